package session

import (
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// JoinNames returns the names of the nodes for a message: "worker-1, worker-2".
func JoinNames(nodes []contract.Node) string { return strings.Join(Names(nodes), ", ") }

// Names returns the names of the nodes, in their order.
func Names(nodes []contract.Node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.Name
	}
	return all
}

// HostUIDs returns the UIDs of the nodes' hosts.
func HostUIDs(nodes []contract.Node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.HostUID
	}
	return all
}

// HasName reports whether one of the nodes has this name.
func HasName(nodes []contract.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Name == name })
}

// RoleRank returns 0 for a control plane and 1 for any other node.
func RoleRank(n contract.Node) int { return 1 - len(node.ControlPlanes([]contract.Node{n})) }

// Without returns the names that are not in the other list.
func Without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// With returns the names of both lists, each name once.
func With(names, others []string) []string {
	return append(slices.Clone(names), Without(others, names)...)
}

// Intersect returns the names that are also in the other list.
func Intersect(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
}

// MergeNodes returns the recorded nodes, with their present addresses in nodes, and those other nodes of the
// run that leave. After a failed run that was to add nodes, these are not in the record.
func MergeNodes(recorded, nodes []contract.Node, leave []string) []contract.Node {
	all := slices.Clone(recorded)
	for _, n := range nodes {
		i := slices.IndexFunc(recorded, func(m contract.Node) bool { return m.HostUID == n.HostUID })
		switch {
		case i >= 0 && n.Name == recorded[i].Name && n.Address != "":
			all[i].Address, all[i].Address6, all[i].MACs = n.Address, n.Address6, n.MACs
		case i < 0 && slices.Contains(leave, n.Name) && !HasName(recorded, n.Name):
			all = append(all, n)
		}
	}
	return all
}

// HasHost reports whether one of the nodes is on the host of n.
func HasHost(nodes []contract.Node, n contract.Node) bool {
	return slices.Contains(HostUIDs(nodes), n.HostUID)
}

// FormerControlPlanes returns the control planes before the run (Request.Members), with the names of their members
// of etcd.
func FormerControlPlanes(r contract.Request) []contract.Node {
	all, _ := inventory.Members(contract.Request{Order: contract.Order{Operation: contract.OperationRemoveControlPlane}, Record: contract.Record{Members: r.Members}}, r.Members)
	return node.ControlPlanes(all)
}

// Joining returns the nodes that are members of etcd, but were none before the run.
func Joining(former, nodes []contract.Node) []contract.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return n.Etcd == "" || IsMemberOf(former, n) })
}

// IsMemberOf reports whether the node was a member of etcd.
func IsMemberOf(former []contract.Node, n contract.Node) bool {
	return slices.ContainsFunc(former, func(f contract.Node) bool { return f.HostUID == n.HostUID && f.Etcd != "" })
}
