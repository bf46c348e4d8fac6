package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// softwareView has the Softwares of a namespace for -o json and -o yaml.
type softwareView struct {
	Namespace string           `json:"namespace"`
	Softwares []softwareRecord `json:"softwares"`
}

// softwareRecord is one Software with all that its status has.
type softwareRecord struct {
	Name      string                        `json:"name"`
	Cluster   string                        `json:"cluster"`
	Ready     string                        `json:"ready"`
	Reason    string                        `json:"reason,omitempty"`
	Message   string                        `json:"message,omitempty"`
	Installed int32                         `json:"installed"`
	Failed    int32                         `json:"failed"`
	Total     int32                         `json:"total"`
	Omitted   int32                         `json:"omitted,omitempty"`
	Nodes     []v1alpha1.SoftwareNodeStatus `json:"nodes"`
}

func viewSoftware(namespace string, all []v1alpha1.Software) softwareView {
	view := softwareView{Namespace: namespace, Softwares: []softwareRecord{}} // not nil, so that JSON has an empty list
	for i := range all {
		w := &all[i]
		ready := softwareReady(w)
		view.Softwares = append(view.Softwares, softwareRecord{
			Name: w.Name, Cluster: clusterOf(w), Ready: string(ready.Status), Reason: ready.Reason, Message: ready.Message,
			Installed: w.Status.Installed, Failed: w.Status.Failed, Total: w.Status.Total, Omitted: w.Status.Omitted,
			Nodes: append([]v1alpha1.SoftwareNodeStatus{}, w.Status.Nodes...),
		})
	}
	return view
}

// softwareReady returns the condition Ready. It is Unknown while the controller has not processed the
// present spec.
func softwareReady(w *v1alpha1.Software) apis.Condition {
	c := w.Status.GetCondition(apis.ConditionReady)
	if c == nil || w.Status.ObservedGeneration < w.Generation {
		return apis.Condition{Status: "Unknown", Message: "the controller has not seen this version of the Software yet"}
	}
	return *c
}

// softwareRow is one package on one node.
type softwareRow struct {
	node string
	v1alpha1.SoftwarePackageStatus
}

// urgency is the order of the states in a table: what a user must look at comes first.
var urgency = []contract.SoftwareState{
	contract.SoftwareFailed, contract.SoftwareDrifted, contract.SoftwarePending, contract.SoftwareInstalling, contract.SoftwareRemoving,
	contract.SoftwareOutdated, contract.SoftwareInstalled,
}

// rank returns the place of a state in urgency. A state of a newer controller comes first.
func rank(state string) int { return slices.Index(urgency, contract.SoftwareState(state)) }

// softwareRows returns the packages of the Softwares of one cluster, the most urgent first. A package that
// several Softwares request is on one row, with its most urgent state.
func softwareRows(all []v1alpha1.Software) (rows []softwareRow) {
	type key struct{ node, name string }
	known := map[key]int{}
	for _, w := range all {
		for _, n := range w.Status.Nodes {
			for _, p := range n.Packages {
				k, row := key{n.Name, p.Name}, softwareRow{n.Name, p}
				switch i, there := known[k]; {
				case !there:
					known[k] = len(rows)
					rows = append(rows, row)
				case rank(p.State) < rank(rows[i].State):
					rows[i] = row
				}
			}
		}
	}
	sortValues(rows, func(a, b *softwareRow) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), strings.Compare(a.node, b.node), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// omittedRows returns how many packages the controller has left out, because the status would be too long.
func omittedRows(all []v1alpha1.Software) (n int32) {
	for _, w := range all {
		n += w.Status.Omitted
	}
	return n
}

// softwareSummary describes the Softwares of one cluster in one line, such as
// "5 of 6 installed, 1 Failed; worker-1: qat-driver: install.sh ended with exit status 3: no headers".
func softwareSummary(all []v1alpha1.Software) string {
	rows := softwareRows(all)
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.State]++
	}
	switch omitted := omittedRows(all); {
	case len(rows) == 0 && omitted > 0:
		return fmt.Sprintf("%d installed, none of them listed", omitted)
	case len(rows) == 0:
		return strings.TrimSuffix("no packages are known yet; "+shorten(firstProblem(all, rows), longestCell), "; ")
	}
	// An outdated package is installed, only not in its newest version.
	text := fmt.Sprintf("%d of %d installed", counts[string(contract.SoftwareInstalled)]+counts[string(contract.SoftwareOutdated)], len(rows))
	for _, state := range urgency[:len(urgency)-1] {
		if n := counts[string(state)]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, state)
		}
	}
	if omitted := omittedRows(all); omitted > 0 {
		text += fmt.Sprintf(", %d more not listed", omitted)
	}
	if problem := firstProblem(all, rows); problem != "" {
		text += "; " + shorten(problem, longestCell)
	}
	return text
}

// firstProblem describes the most urgent problem; empty: there is none.
func firstProblem(all []v1alpha1.Software, rows []softwareRow) string {
	for i := range all {
		if c := all[i].Status.GetCondition(v1alpha1.ConditionSoftwareAccepted); c.IsFalse() {
			return fmt.Sprintf("%s: %s", all[i].Name, clean(c.Message))
		}
	}
	if len(rows) > 0 && rank(rows[0].State) <= rank(string(contract.SoftwareDrifted)) {
		return fmt.Sprintf("%s: %s: %s", rows[0].node, rows[0].Name, cmp.Or(headline(rows[0].Message), rows[0].State))
	}
	for _, n := range silentNodes(all) {
		return n.Name + ": " + clean(n.Message)
	}
	return ""
}

// silentNodes returns the nodes that the last run could not read or change, each once.
func silentNodes(all []v1alpha1.Software) (nodes []v1alpha1.SoftwareNodeStatus) {
	for _, w := range all {
		for _, n := range w.Status.Nodes {
			same := func(o v1alpha1.SoftwareNodeStatus) bool { return o.Name == n.Name && o.Message == n.Message }
			if n.Message != "" && !slices.ContainsFunc(nodes, same) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// softwarePage shows the Softwares of one namespace by cluster. all is sorted by cluster. cell shortens a message for
// a table.
func (s *site) softwarePage(all []v1alpha1.Software, now time.Time, cell func(string) string) string {
	var pages []string
	for len(all) > 0 {
		cluster := clusterOf(&all[0])
		end := slices.IndexFunc(all, func(w v1alpha1.Software) bool { return clusterOf(&w) != cluster })
		if end < 0 {
			end = len(all)
		}
		pages, all = append(pages, s.softwareOfCluster(cluster, all[:end], now, cell)), all[end:]
	}
	return strings.Join(pages, "\n")
}

func (s *site) softwareOfCluster(cluster string, all []v1alpha1.Software, now time.Time, cell func(string) string) string {
	rows := softwareRows(all)
	sections := []string{
		fmt.Sprintf("%s  (namespace %s)  %s\n", cmp.Or(clean(cluster), "no cluster"), s.namespace, softwareSummary(all)),
		softwareTable(all, cell),
		packageTable(rows, now, cell),
		problemList(all, rows),
	}
	if next := s.softwareAdvice(cluster, rows); len(next) > 0 {
		sections = append(sections, "NEXT\n  "+strings.Join(next, "\n  ")+"\n")
	}
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n")
}

// softwareTable has one row for each Software.
func softwareTable(all []v1alpha1.Software, cell func(string) string) string {
	rows := [][]string{{"SOFTWARE", "READY", "REASON", "INSTALLED", "MESSAGE"}}
	for i := range all {
		c := softwareReady(&all[i])
		rows = append(rows, []string{all[i].Name, string(c.Status), dash(clean(c.Reason)), dash(all[i].Status.Summary), cell(clean(c.Message))})
	}
	return columns(rows)
}

func packageTable(all []softwareRow, now time.Time, cell func(string) string) string {
	if len(all) == 0 {
		return ""
	}
	rows := [][]string{{"NODE", "PACKAGE", "WANTED", "INSTALLED", "STATE", "SINCE", "MESSAGE"}}
	for _, r := range all {
		since := ""
		if r.Since != nil {
			since = age(*r.Since, now)
		}
		rows = append(rows, []string{r.node, clean(r.Name), dash(clean(r.Wanted)), dash(clean(r.Installed)), clean(r.State), dash(since), cell(headline(r.Message))})
	}
	return columns(rows)
}

// softwareRunText describes what the next run for the software of p does, and why the newest one failed. It is
// empty if there is nothing to do and nothing has failed.
func softwareRunText(p *v1alpha1.Provisioning) string {
	r := p.Status.Software
	if r == nil || r.Next == "" && r.Waiting == "" && r.Failure == nil {
		return ""
	}
	rows := [][]string{}
	add := func(title, text string) {
		if text = clean(text); text != "" {
			rows = append(rows, []string{"  " + title, text})
		}
	}
	add("next", r.Next)
	add("waits", r.Waiting)
	if r.Failure != nil {
		add("failed", r.Run+": "+oneLine(r.Failure))
		add("hint", r.Failure.Hint)
	}
	return "\nRUNS\n" + columns(rows)
}

// problemList has the whole messages that the table shortens, with the last lines of output. Equal messages
// of several nodes are there once.
func problemList(all []v1alpha1.Software, rows []softwareRow) string {
	var titles, texts []string
	add := func(title, text string) {
		if i := slices.Index(texts, text); i >= 0 {
			titles[i] += ", " + title
			return
		}
		titles, texts = append(titles, title), append(texts, text)
	}
	for _, n := range silentNodes(all) {
		add(n.Name, indented(n.Message))
	}
	for _, r := range rows {
		if text := indented(r.Message); len([]rune(headline(r.Message))) > longestCell || strings.Contains(text, "\n") {
			add(r.node+" "+clean(r.Name), text)
		}
	}
	var list strings.Builder
	for i := range titles {
		fmt.Fprintf(&list, "  %s:\n%s\n", titles[i], texts[i])
	}
	if list.Len() == 0 {
		return ""
	}
	return "MESSAGES\n" + list.String()
}

// headline returns the cause in a message that ends with output: the last line, such as the error of apt-get,
// behind the first one if that announces the output.
func headline(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	head, end := clean(lines[0]), clean(lines[len(lines)-1])
	if len(lines) > 1 && strings.HasSuffix(head, ":") {
		return head + " " + end
	}
	return end
}

// indented returns the lines of text that are not empty, each printable and indented.
func indented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = clean(line); line != "" {
			lines = append(lines, "    "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// softwareAdvice returns the next commands for the states of the packages.
func (s *site) softwareAdvice(cluster string, rows []softwareRow) (lines []string) {
	has := func(state contract.SoftwareState) bool {
		return slices.ContainsFunc(rows, func(r softwareRow) bool { return r.State == string(state) })
	}
	if has(contract.SoftwareFailed) {
		lines = append(lines, "Try again after you have fixed the cause:", "  "+s.kubectl("bpa software "+cluster, "--retry --wait"))
	} else if has(contract.SoftwareDrifted) {
		lines = append(lines, "Install again what was changed by hand:", "  "+s.kubectl("bpa software "+cluster, "--retry --wait"))
	}
	if has(contract.SoftwareOutdated) {
		lines = append(lines, "Update the packages that are not updated automatically:", "  "+s.kubectl("bpa software "+cluster, "--update --wait"))
	}
	return lines
}
