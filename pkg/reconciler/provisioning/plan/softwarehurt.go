package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/software"
)

// missedNodes returns the nodes that did not come back after a run for Softwares had drained or rebooted them;
// none: the run did not fail for this reason. Such a run is not repeated automatically, because the package
// that took the node down would take down the next one too. A run that finds nodes not Ready before its first drain is
// repeated, as after any other cause that can pass.
func missedNodes(r Run) []string {
	if r.State != Failed {
		return nil
	}
	cause := Classify(r)
	if cause.Host == "" || cause.Step == contract.StepBeforeDrain || cause.Reason != contract.ReasonClusterUnhealthy && cause.Reason != contract.ReasonTaskTimedOut {
		return nil
	}
	return append([]string{cause.Host}, cause.Others...)
}

// missing returns the nodes of the cluster that did not come back from a run for Softwares, and that no look
// has seen Ready since, sorted. If nothing can look, it returns none. All known runs count: a run that drains nothing may have succeeded since.
func (s Seen) missing() (names []string) {
	if s.Health != nil && s.Health.Unchecked != "" {
		return nil
	}
	for _, r := range s.Software.Runs {
		for _, name := range missedNodes(r) {
			for _, n := range s.members() {
				if n.Name == name && (s.Health == nil || s.Health.Nodes[name].State != health.NodeReady) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// drainBlocked returns why no run that drains or reboots nodes starts; empty: one may start.
func (s Seen) drainBlocked(changes []software.Change) string {
	names := s.missing()
	if len(names) == 0 || !slices.ContainsFunc(changes, s.disrupts) {
		return ""
	}
	return fmt.Sprintf("not Ready since a run for Softwares drained or rebooted: %s. No other node is drained until it is Ready. Repair the machine, or remove the node "+
		"from the cluster, then `%s`", strings.Join(names, ", "), s.retrySoftware())
}

// disrupts reports whether a node may be drained or rebooted for the change.
func (s Seen) disrupts(c software.Change) bool {
	if c.Verb == software.Reboot {
		return true
	}
	harmless := func(d contract.Disruption) bool { return d == "" || d == contract.DisruptionNone }
	for _, w := range s.Software.Wanted {
		if w.Name == c.Package && !harmless(w.Disruption) {
			return true
		}
	}
	return slices.ContainsFunc(s.Software.Record.Nodes, func(n contract.SoftwareNode) bool {
		return n.Node == c.Node && slices.ContainsFunc(n.Packages, func(p contract.SoftwarePackage) bool { return p.Name == c.Package && !harmless(p.Disruption) })
	})
}

// retrySoftware returns the command that requests another run for the Softwares.
func (s Seen) retrySoftware() string {
	return fmt.Sprintf("kubectl bpa software %s -n %s --retry", s.Name, s.Namespace)
}
