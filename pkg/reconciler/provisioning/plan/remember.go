package plan

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
)

// Remember rebuilds the record of an installed cluster, if it is lost. If the sources contradict each other, there is
// no record, and nothing is changed. held are the nodes as the labels of the claimed hosts describe them. Members of etcd
// keep the names that the last run has given them.
func (s *Seen) Remember(held []contract.Node) {
	if s.Memory != nil || !s.Complete() {
		return
	}
	newest := s.Newest()
	nodes := slices.DeleteFunc(slices.Clone(s.Nodes), func(n contract.Node) bool { return n.Standby })
	var lost []contract.Node
	failed := newest != nil && newest.State != Succeeded && contract.OperationOf(newest.Operation).ChangesCluster()
	switch {
	case failed && len(s.Started.Members) > 0: // select-hosts may have stored the new nodes already
		nodes = s.Started.Members
	case failed: // its request is lost, and select-hosts may have stored nodes on which nothing is installed
		return
	case len(s.Started.Members) > 0 && !contract.OperationOf(s.Started.Operation).Has(contract.TaskSelectHosts):
		nodes = s.Started.Members // the list of select-hosts is that of an earlier run, and may have nodes that were removed since
	case len(nodes) == 0:
		nodes = slices.DeleteFunc(slices.Clone(held), func(n contract.Node) bool { return n.Standby })
	}
	for _, n := range s.Started.Members { // a lost node that the run did not replace
		listed := slices.ContainsFunc(nodes, func(o contract.Node) bool { return o.Host == n.Host || o.Name == n.Name })
		if !failed && s.Started.Remove == nil && !listed && !slices.Contains(s.Started.Gone(), n.Name) {
			lost = append(lost, n)
		}
	}
	if removed := s.Started.Remove; removed != nil && !failed {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return slices.Contains(removed.Nodes, n.Name) })
	}
	request := s.Started
	if request.Provisioning == "" {
		request = s.Request
	}
	if !failed && !describes(request, nodes) {
		return
	}
	memory := &contract.Installed{Request: request.Spec, EtcdNext: s.Started.EtcdNext, Patched: request.Patched}
	if failed {
		memory.Nodes = slices.Clone(nodes)
	} else { // the order and the names that the run has given
		memory.Nodes, memory.EtcdNext = inventory.Members(s.Started, nodes)
		memory.Nodes = append(memory.Nodes, lost...)
		markUpgraded(memory.Nodes, s.Started.Upgrade)
	}
	s.markTargets(memory.Nodes)
	memory.SettlePatched()
	slices.SortStableFunc(memory.Nodes, func(a, b contract.Node) int { return order(a) - order(b) })
	s.Memory = memory
	s.rememberRestore()
}

// markUpgraded gives the nodes that a run has upgraded the version and the variables of its request, and its
// patch level. The request has those of the other nodes in Members.
func markUpgraded(nodes []contract.Node, upgrade *contract.Upgrade) {
	for i := range nodes {
		if upgrade != nil && slices.Contains(upgrade.Nodes, nodes[i].Name) {
			nodes[i].Version, nodes[i].Settings = "", ""
			if upgrade.Patch != "" {
				nodes[i].Patched = upgrade.Patch
			}
		}
	}
}

// describes reports whether the nodes are those of the request. A record with too few nodes would let
// a run install nodes that the cluster has.
func describes(r contract.Request, nodes []contract.Node) bool {
	want := map[string]int{}
	for _, slot := range r.Slots {
		want["node "+slot.Name]++
	}
	for _, set := range r.Sets {
		want["set "+set.Name] += set.Active
	}
	for _, n := range nodes {
		if n.Set != "" {
			want["set "+n.Set]--
			continue
		}
		want["node "+n.Name]--
	}
	for _, missing := range want {
		if missing != 0 {
			return false
		}
	}
	return len(nodes) > 0
}

// order puts control planes first.
func order(n contract.Node) int {
	if controlPlane(n) {
		return 0
	}
	return 1
}
