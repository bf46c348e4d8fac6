package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// page returns the most important facts about one Provisioning. software describes its Softwares; empty: it
// has none.
func (s *site) page(p *v1alpha1.Provisioning, software string, now time.Time) string {
	sections := []string{
		heading(p, now) + facts(p, software, now),
		conditionTable(p, now),
		nodeTable(p),
		pluginTable(p),
	}
	next := s.advice(p)
	if f := p.Status.Failure; f != nil {
		sections = append(sections, "LAST FAILURE\n"+failureTable(f)+hintLine(p, next))
	}
	sections = append(sections, "NEXT\n  "+strings.Join(next, "\n  ")+"\n")
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n")
}

// hintLine returns the hint of the failure as the last line of its table. It returns only the end of the
// table if the advice or a condition has the hint already.
func hintLine(p *v1alpha1.Provisioning, advice []string) string {
	hint := clean(p.Status.Failure.Hint)
	shown := slices.Contains(advice, hint) || slices.ContainsFunc(p.Status.Conditions, func(c apis.Condition) bool { return clean(c.Message) == hint })
	if hint == "" || shown {
		return "\n"
	}
	return "\n  hint     " + hint + "\n"
}

func heading(p *v1alpha1.Provisioning, now time.Time) string {
	status, reason := readiness(p)
	line := fmt.Sprintf("%s  (namespace %s, age %s)  Ready=%s", p.Name, p.Namespace, age(p.CreationTimestamp, now), status)
	if reason != "" {
		line += "  " + reason
	}
	return line + "\n"
}

func readiness(p *v1alpha1.Provisioning) (status, reason string) {
	cond := p.Status.GetCondition(apis.ConditionReady)
	if cond == nil {
		return "Unknown", ""
	}
	return string(cond.Status), cond.Reason
}

func facts(p *v1alpha1.Provisioning, software string, now time.Time) string {
	var rows [][]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{"  " + name, value})
		}
	}
	add("kubernetes", kubernetes(p))
	add("engine", clean(p.Status.Engine))
	add("endpoint", p.Status.APIEndpoint)
	if run := p.Status.Run; run != nil {
		state := "running for"
		if !running(p) {
			state = "took"
		}
		add("run", fmt.Sprintf("%s: %s, attempt %d, %s %s", run.Name, run.Operation, run.Attempt, state, clock(elapsed(p, now))))
	}
	add("checks", checksText(p.Status.Checks))
	add("queue", queuePlace(p, now))
	if u := p.Status.Upgrade; u != nil && u.OnlyPatch {
		add("patch", fmt.Sprintf("%s: %d of %d nodes have it", clean(u.Patch), u.Done, u.Total))
	} else if u != nil && u.Hop != "" && u.From == u.Hop && u.To == u.Hop {
		add("settings", fmt.Sprintf("%d of %d nodes have %s", u.Done, u.Total, upgraded(u)))
	} else if u != nil && u.Hop != "" {
		add("upgrade", fmt.Sprintf("%s to %s: %d of %d nodes have %s", u.From, u.To, u.Done, u.Total, upgraded(u)))
	}
	if u := p.Status.Upgrade; u != nil {
		add("versions", clean(u.Message))
	}
	add("patched", clean(p.Status.Patched))
	add("software", software)
	add("restore", restoreText(p.Status.Restore, now))
	if percent, text := present(p); percent >= 0 {
		add("progress", fmt.Sprintf("%d%%  %s%s", percent, text, timeLeft(p, now)))
	}
	if k := p.Status.Kubeconfig; k != nil {
		add("kubeconfig", "Secret "+k.SecretName+expiry(k.Expires, now))
	}
	if expires := p.Status.APICertificateExpires; expires != nil {
		add("certificate", "of the API server"+expiry(expires, now))
	}
	return columns(rows)
}

// checksText describes the findings of the newest run that has checked its hosts in one line; empty: there are none.
func checksText(c *v1alpha1.ChecksStatus) string {
	if c == nil || c.Summary == "" {
		return ""
	}
	var ids []string
	for _, f := range c.Findings {
		if id := clean(f.ID); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return fmt.Sprintf("%s of the hosts in %s: %s", clean(c.Summary), clean(c.Run), firstOf(ids))
}

// restoreText describes the requested or the last restore, such as "Running: Backup b-1, content of 3h ago".
func restoreText(r *v1alpha1.RestoreStatus, now time.Time) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%s: Backup %s", r.State, clean(r.Backup))
	if r.BackupTime != nil {
		text += fmt.Sprintf(", content of %s (%s ago)", r.BackupTime.UTC().Format(time.RFC3339), age(*r.BackupTime, now))
	}
	return text
}

// upgraded describes what the nodes get first.
func upgraded(u *v1alpha1.UpgradeStatus) string {
	what := u.Hop
	if u.From == u.Hop && u.To == u.Hop {
		what = "the requested settings"
	}
	if u.Patch != "" {
		what += " and the patch " + clean(u.Patch)
	}
	return what
}

// queuePlace describes how long the Provisioning waits for a free run, and its place. It is empty if
// the Provisioning does not wait.
func queuePlace(p *v1alpha1.Provisioning, now time.Time) string {
	q := p.Status.Queue
	if q == nil || q.Place == 0 {
		return ""
	}
	text := fmt.Sprintf("place %d of %d, since %s", q.Place, q.Length, age(q.Since, now))
	if p.DeletionTimestamp == nil {
		text += fmt.Sprintf(", priority %d", p.Spec.Priority)
	}
	return text
}

func kubernetes(p *v1alpha1.Provisioning) string {
	parts := []string{strings.TrimLeft(p.Spec.Kubernetes.Version, "v"), p.Spec.Kubernetes.NetworkPlugin}
	if p.Spec.PodSubnet != "" {
		parts = append(parts, "pods "+p.Spec.PodSubnet)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func timeLeft(p *v1alpha1.Provisioning, now time.Time) string {
	end := p.Status.Progress.EstimatedEnd
	if end == nil || !end.After(now) {
		return ""
	}
	return "   about " + clock(end.Sub(now)) + " left"
}

func expiry(expires *metav1.Time, now time.Time) string {
	switch {
	case expires == nil:
		return ""
	case expires.Time.Before(now):
		return ", expired " + expires.UTC().Format(time.DateOnly)
	}
	return ", valid until " + expires.UTC().Format(time.DateOnly)
}

func conditionTable(p *v1alpha1.Provisioning, now time.Time) string {
	if len(p.Status.Conditions) == 0 {
		return ""
	}
	rows := [][]string{{"CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"}}
	for _, c := range inOrder(p.Status.Conditions) {
		rows = append(rows, []string{string(c.Type), string(c.Status), c.Reason, age(c.LastTransitionTime.Inner, now), clean(c.Message)})
	}
	return columns(rows)
}

func nodeTable(p *v1alpha1.Provisioning) string {
	if len(p.Status.Nodes) == 0 {
		return ""
	}
	all := []struct {
		title string
		cell  func(v1alpha1.NodeStatus) string
		must  bool // shown even if it is empty for all nodes
	}{
		{"NODE", func(n v1alpha1.NodeStatus) string { return n.Name }, true},
		{"ROLES", func(n v1alpha1.NodeStatus) string { return strings.Join(n.Roles, ",") }, true},
		{"HOST", func(n v1alpha1.NodeStatus) string { return n.Host }, true},
		{"ADDRESS", func(n v1alpha1.NodeStatus) string { return n.Address }, true},
		{"STATE", nodeState, true},
		{"VERSION", func(n v1alpha1.NodeStatus) string { return clean(n.Version) }, false},
		{"MESSAGE", func(n v1alpha1.NodeStatus) string { return clean(n.Message) }, false},
		{"PROBLEM", func(n v1alpha1.NodeStatus) string { return clean(n.Problem) }, false},
	}
	rows := make([][]string, len(p.Status.Nodes)+1)
	for _, column := range all {
		if !column.must && !slices.ContainsFunc(p.Status.Nodes, func(n v1alpha1.NodeStatus) bool { return column.cell(n) != "" }) {
			continue
		}
		rows[0] = append(rows[0], column.title)
		for i, n := range p.Status.Nodes {
			rows[i+1] = append(rows[i+1], column.cell(n))
		}
	}
	return columns(rows)
}

func pluginTable(p *v1alpha1.Provisioning) string {
	if len(p.Status.Plugins) == 0 {
		return ""
	}
	rows := [][]string{{"PLUGIN", "VERSION", "STATE", "TEST", "MESSAGE"}}
	for _, r := range p.Status.Plugins {
		test, message := "-", clean(r.Message)
		if r.Test != nil {
			test = clean(r.Test.State)
		}
		if len(r.NeededBy) > 0 {
			message = strings.TrimPrefix(message+"; needed by "+strings.Join(r.NeededBy, ", "), "; ")
		}
		rows = append(rows, []string{r.Name, dash(clean(r.Version)), string(r.State), test, message})
	}
	return columns(rows)
}

// nodeState returns the state of a node in the words of kubectl get nodes.
func nodeState(n v1alpha1.NodeStatus) string {
	if n.Unschedulable {
		return string(n.State) + ",SchedulingDisabled"
	}
	return string(n.State)
}

func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(since.Time), 0))
}

// columns aligns the cells of rows. Lines have no blanks at the end.
func columns(rows [][]string) string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	lines := strings.Split(s.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
