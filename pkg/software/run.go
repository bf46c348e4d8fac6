package software

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// mostParts is the number of parts of a Text. More would not fit into a condition.
const mostParts = 8

// ForRun returns what a run with these changes does; without changes, it is for machines that join the
// cluster. asked is the value of contract.AnnotationSoftware, which only counts if the changes have a Look:
// then no run has answered it yet. At most batch nodes are drained or rebooted at a time.
func ForRun(wanted []contract.Software, changes []Change, asked string, batch, drainSeconds int) *contract.SoftwareRun {
	run := &contract.SoftwareRun{Packages: slices.Clone(wanted), Batch: max(batch, 1), DrainSeconds: drainSeconds}
	slices.SortStableFunc(run.Packages, func(a, b contract.Software) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), -compareBool(a.ControlPlanes, b.ControlPlanes))
	})
	requested := false
	for _, c := range changes {
		requested = requested || c.Verb == Look
		if c.Node != "" {
			run.Nodes = append(run.Nodes, c.Node)
		}
	}
	slices.Sort(run.Nodes)
	run.Nodes = slices.Compact(run.Nodes)
	if requested {
		a := parseAsk(asked, contract.SoftwareRecord{})
		run.Asked, run.Update, run.CheckOnly = asked, a.update, a.check
	}
	return run
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Text describes changes in words, such as "install curl on 3 nodes; remove foo on node-1"; empty: there are
// none.
func Text(changes []Change) string {
	type part struct{ verb, name string }
	nodes := map[part][]string{}
	for _, c := range changes {
		p := part{c.Verb, c.Package}
		nodes[p] = append(nodes[p], c.Node)
	}
	var parts []part
	for p := range nodes {
		if p.verb != Look || len(nodes) == 1 { // a look is a part of every run
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(slices.Index(verbs, a.verb), slices.Index(verbs, b.verb)), cmp.Compare(a.name, b.name))
	})
	var texts []string
	for _, p := range parts {
		texts = append(texts, sentence(p.verb, p.name, nodes[p]))
	}
	if more := len(texts) - mostParts; more > 1 {
		texts = append(texts[:mostParts], fmt.Sprintf("%d more changes", more))
	}
	return strings.Join(texts, "; ")
}

// verbs is the order of the verbs in a Text.
var verbs = []string{Install, Update, Remove, Repair, Reboot, Look}

// sentence describes what happens to one package on nodes.
func sentence(verb, name string, nodes []string) string {
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	where := fmt.Sprintf("%d nodes", len(nodes))
	switch {
	case len(nodes) == 1 && nodes[0] == "":
		where = "all nodes"
	case len(nodes) == 1:
		where = nodes[0]
	}
	switch verb {
	case Look:
		return "look at the packages of " + where
	case Reboot:
		return "reboot " + where
	}
	return verb + " " + name + " on " + where
}
