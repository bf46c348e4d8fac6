package settings

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akraino-icn/bpa/pkg/admission"
)

// NodeLabels says which labels of BareMetalHosts become labels of the Nodes on them: sorted lines "HOST-LABEL: NODE-LABEL".
// It is a text, so that Settings can be compared.
type NodeLabels string

// Rules returns the names of the Nodes' labels by those of the hosts' labels; nil: there are none.
func (n NodeLabels) Rules() map[string]string {
	if n == "" {
		return nil
	}
	rules := map[string]string{}
	for line := range strings.Lines(string(n)) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), ": ")
		rules[from] = to
	}
	return rules
}

// readNodeLabels reads the lines of the setting. Empty lines and lines with a comment do not count.
func readNodeLabels(value string, into *NodeLabels) bool {
	rules, targets := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		from, to, ok := strings.Cut(line, ":")
		to = strings.TrimSpace(to)
		if _, twice := rules[from]; !ok || twice || targets[to] || len(validation.IsQualifiedName(from)) > 0 || admission.NodeLabel(to) != "" {
			return false
		}
		rules[from], targets[to] = to, true
	}
	lines := make([]string, 0, len(rules))
	for _, from := range slices.Sorted(maps.Keys(rules)) {
		lines = append(lines, from+": "+rules[from])
	}
	*into = NodeLabels(strings.Join(lines, "\n"))
	return true
}
