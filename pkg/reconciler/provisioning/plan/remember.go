package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
)

// Remember rebuilds the record of an installed cluster, if it is lost or if an older build of BPA
// installed the cluster, which wrote none. If the sources contradict each other, there is no record,
// and nothing is changed. held are the nodes as the labels of the claimed hosts describe them. Members
// of etcd keep the names that the last run has given them. In a cluster of an older build, these are
// the names that kubespray gives them by their position.
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
	case failed: // of an older build, whose requests have no members
		if nodes = s.before(*newest, nodes, held); !describes(s.Started, nodes) {
			return
		}
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
	memory := &contract.Installed{Request: request, EtcdNext: s.Started.EtcdNext, Patched: request.Patched}
	if failed {
		memory.Nodes = nameMembers(nodes)
		memory.EtcdNext = cmp.Or(memory.EtcdNext, len(nodes)+1)
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

// before returns the nodes that the cluster had before an older build of BPA started this run, which
// was to replace lost nodes and did not succeed. select-hosts may already have stored the new nodes,
// on which nothing is installed, in the place of the lost ones. The run names the lost nodes, so
// another run can replace them.
func (s *Seen) before(failed Run, nodes, held []contract.Node) []contract.Node {
	lost := func(n contract.Node) bool { return slices.Contains(failed.Replaces, Loss{Node: n}.Key()) }
	kept := slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		return !lost(n) && !slices.Contains(s.Started.Installed, n.Host)
	})
	for _, key := range failed.Replaces {
		name, host, _ := strings.Cut(key, "=")
		kept = slices.DeleteFunc(kept, func(n contract.Node) bool { return n.Name == name && n.Host != host })
		if slices.ContainsFunc(kept, func(n contract.Node) bool { return n.Name == name }) {
			continue
		}
		n := requestedNode(s.Started, name)
		if i := slices.IndexFunc(held, func(h contract.Node) bool { return h.Host == host }); i >= 0 {
			n.HostUID, n.Address, n.Address6, n.MACs = held[i].HostUID, held[i].Address, held[i].Address6, held[i].MACs
		}
		n.Host = host
		kept = append(kept, n)
	}
	return kept
}

// requestedNode returns the node of this name as the request describes it. It has no role if the
// request does not have the node.
func requestedNode(r contract.Request, name string) contract.Node {
	for _, slot := range r.Slots {
		if slot.Name == name {
			return contract.Node{Name: name, Roles: slot.Roles}
		}
	}
	for _, set := range r.Sets {
		number, ours := strings.CutPrefix(name, set.Name+"-")
		if _, err := strconv.Atoi(number); ours && err == nil {
			return contract.Node{Name: name, Roles: set.Roles, Set: set.Name}
		}
	}
	return contract.Node{Name: name}
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

// nameMembers gives the control planes the names of etcd's members that kubespray gives them by
// default, unless one of them has a name.
func nameMembers(nodes []contract.Node) []contract.Node {
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b contract.Node) int { return order(a) - order(b) })
	planes := 0
	for _, n := range nodes {
		if n.Etcd != "" {
			return nodes
		}
		if controlPlane(n) {
			planes++
		}
	}
	for i := range planes - (1 - planes%2) {
		nodes[i].Etcd = fmt.Sprintf("etcd%d", i+1)
	}
	return nodes
}
