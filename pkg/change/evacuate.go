package change

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// CanEvacuate reports whether the lost node works and can leave the cluster like any other node. A control plane
// without which etcd has no majority, or which is the last one, is replaced as if it did not work. So is one during
// an upgrade: new nodes come after the upgrade, and until then etcd could spare none of two members.
func CanEvacuate(s State, n contract.Node) bool {
	return slices.Contains(s.Alive, n.Name) && (!controlPlane(n.Roles) || s.whyStays(n) == "" && s.ascent() == nil)
}

// evacuations returns the operations that are due if lost nodes work, in their order. One of them leaves at a
// time, and another host takes its place before the next one leaves. Nodes that do not work are replaced before
// that, because a drain can be blocked.
func (s State) evacuations(d difference, additions []operation) []operation {
	if len(d.evacuate) == 0 {
		return nil
	}
	return append(slices.Clone(additions), func(d difference) (Step, bool) {
		n := d.evacuate[0]
		step := s.removal(operationToRemove(n), []contract.Node{n}, nil)
		step.Request.Remove.Alive = []string{n.Name}
		return step, true
	})
}
