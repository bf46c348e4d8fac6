package kubespray

import (
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// names returns the names of the nodes for a message: "worker-1, worker-2".
func names(nodes []contract.Node) string { return strings.Join(namesOf(nodes), ", ") }

// namesOf returns the names of the nodes, in their order.
func namesOf(nodes []contract.Node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.Name
	}
	return all
}

// uids returns the UIDs of the nodes' hosts.
func uids(nodes []contract.Node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.HostUID
	}
	return all
}

// named reports whether one of the nodes has this name.
func named(nodes []contract.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Name == name })
}

// rankOfRole returns 0 for a control plane and 1 for any other node.
func rankOfRole(n contract.Node) int { return 1 - len(node.ControlPlanes([]contract.Node{n})) }

// without returns the names that are not in the other list.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// with returns the names of both lists, each name once.
func with(names, others []string) []string {
	return append(slices.Clone(names), without(others, names)...)
}

// intersect returns the names that are also in the other list.
func intersect(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
}

// union returns the nodes of the record, with their present addresses, and those other nodes of the
// run that leave. After a failed run that was to add nodes, these are not in the record.
func union(recorded, nodes []contract.Node, leave []string) []contract.Node {
	all := slices.Clone(recorded)
	for _, n := range nodes {
		i := slices.IndexFunc(recorded, func(m contract.Node) bool { return m.HostUID == n.HostUID })
		switch {
		case i >= 0 && n.Name == recorded[i].Name && n.Address != "":
			all[i].Address, all[i].Address6, all[i].MACs = n.Address, n.Address6, n.MACs
		case i < 0 && slices.Contains(leave, n.Name) && !named(recorded, n.Name):
			all = append(all, n)
		}
	}
	return all
}

// isPlaneOf reports whether one of the nodes is on the same host.
func isPlaneOf(nodes []contract.Node, n contract.Node) bool {
	return slices.Contains(uids(nodes), n.HostUID)
}

// formerControlPlanes returns the control planes before the run, with the names of their members of
// etcd.
func formerControlPlanes(r contract.Request) []contract.Node {
	all, _ := inventory.Members(contract.Request{Operation: contract.OperationRemoveControlPlane, Members: r.Members}, r.Members)
	return node.ControlPlanes(all)
}

// joining returns the nodes that are members of etcd, but were none before the run.
func joining(former, nodes []contract.Node) []contract.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return n.Etcd == "" || isMemberOf(former, n) })
}

// isMemberOf reports whether the node was a member of etcd.
func isMemberOf(former []contract.Node, n contract.Node) bool {
	return slices.ContainsFunc(former, func(f contract.Node) bool { return f.HostUID == n.HostUID && f.Etcd != "" })
}
