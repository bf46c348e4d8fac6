package change

import (
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// etcdMembers returns the control planes that are members of etcd. If no name of a member is known,
// kubespray's rule applies: the first control planes, cut to an odd number.
func etcdMembers(nodes []contract.Node) []contract.Node {
	var planes, members []contract.Node
	for _, n := range nodes {
		switch {
		case !controlPlane(n.Roles):
			continue
		case n.Etcd != "":
			members = append(members, n)
		}
		planes = append(planes, n)
	}
	if len(members) > 0 || len(planes) == 0 {
		return members
	}
	return planes[:len(planes)-(1-len(planes)%2)]
}

// Quorum reports whether etcd has a majority: most of its members are not lost. Without a majority,
// the API server does not answer, and no node can be added or removed.
func Quorum(nodes []contract.Node, lost func(contract.Node) bool) bool {
	members := etcdMembers(nodes)
	living := 0
	for _, n := range members {
		living += oneIf(!lost(n))
	}
	return 2*living > len(members) || len(members) == 0
}

func (s State) lost(n contract.Node) bool {
	_, lost := s.Lost[n.Name]
	return lost
}

func (s State) quorum() bool { return Quorum(s.Installed.Nodes, s.lost) }

// whyStays returns why an installed control plane node cannot be removed now; empty: it can be.
func (s State) whyStays(n contract.Node) string {
	left := 0
	for _, other := range s.Installed.Nodes {
		left += oneIf(controlPlane(other.Roles) && other.Name != n.Name && !s.lost(other))
	}
	if left == 0 {
		return "it is the last control plane; to remove the cluster, delete the Provisioning"
	}
	members := etcdMembers(s.Installed.Nodes)
	if !slices.ContainsFunc(members, func(m contract.Node) bool { return m.Name == n.Name }) {
		return ""
	}
	living := 0
	for _, m := range members {
		living += oneIf(m.Name != n.Name && !s.lost(m))
	}
	switch {
	case len(members) == 1:
		return "it is the only member of etcd; add control planes until there are 3, and remove it after that"
	case 2*living <= len(members)-1:
		return "etcd would lose its majority; restore or replace the lost control planes first"
	}
	return ""
}

// stuck returns the differences that no operation can remove.
func (s State) stuck() []Refusal {
	all := s.staying()
	if len(all) == 0 {
		return nil
	}
	if _, ok := Next(s); ok || !s.quorum() || len(Waiting(s)) > 0 {
		return nil
	}
	return all
}

// staying returns the control planes that are not requested and that cannot be removed now.
func (s State) staying() []Refusal {
	d := s.compare()
	var all []Refusal
	leaving := slices.DeleteFunc(slices.Clone(s.Installed.Nodes), func(n contract.Node) bool {
		return !slices.Contains(s.Installed.Leaving, n.Name) || isNamed(d.remove, n.Name)
	})
	for _, n := range append(d.remove, leaving...) {
		why, what := s.whyStays(n), "be removed"
		if s.requested(n) && !isNamed(leaving, n.Name) {
			what = "move to another host"
		}
		if controlPlane(n.Roles) && s.installed(n) && why != "" {
			all = append(all, Refusal{Field: "spec." + n.Name, Text: fmt.Sprintf("node %s cannot %s: %s", n.Name, what, why)})
		}
	}
	for _, n := range s.Installed.Nodes {
		if why := s.whyStays(n); d.removeSets[n.Set] > 0 && why != "" {
			all = append(all, Refusal{Field: "spec.nodeSets", Text: fmt.Sprintf("node %s of node set %s cannot be removed: %s", n.Name, n.Set, why)})
		}
	}
	return all
}
