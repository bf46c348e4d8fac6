package change

import (
	"fmt"
	"maps"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Plan returns all operations in their order. It assumes that each of them succeeds and finds hosts.
func Plan(s State) []Step {
	steps, _ := Preview(s)
	return steps
}

// Preview is like Plan, and also returns the state after the operations. Waiting and Refused of that
// state are what no operation changes.
func Preview(s State) (steps []Step, after State) {
	limit := 2*(len(s.Installed.Nodes)+len(s.Unfinished)+len(s.Wanted.Slots)+len(s.Wanted.Sets)+count(s.Wanted.Sets)) + 2
	for range limit {
		step, ok := Next(s)
		if !ok {
			break
		}
		steps = append(steps, step)
		s = s.after(step)
	}
	return steps, s
}

func count(sets []contract.Set) (n int) {
	for _, set := range sets {
		n += set.Active
	}
	return n
}

// after returns the state after the step has succeeded. New nodes have no hosts.
func (s State) after(step Step) State {
	if step.Request.Upgrade != nil {
		return s.upgraded(step)
	}
	nodes := slices.Clone(step.Request.Members) // the installed nodes, each with its own version
	leave := slices.Clone(step.Replace)
	if step.Operation == contract.OperationRestore {
		leave = append(leave, step.Remove...)
	}
	if removal := step.Request.Remove; removal != nil {
		leave = append(leave, removal.Nodes...)
		for _, set := range removal.Sets { // which of them leave is not known here
			for _, c := range set.Candidates[len(set.Candidates)-set.Count:] {
				leave = append(leave, c.Node)
			}
		}
	}
	left := func(n contract.Node) bool { return slices.Contains(leave, n.Name) }
	nodes = slices.DeleteFunc(nodes, left)
	s.Unfinished = slices.DeleteFunc(slices.Clone(s.Unfinished), left)
	s.Lost = maps.Clone(s.Lost)
	for _, name := range leave {
		delete(s.Lost, name)
	}
	if step.Request.Remove == nil {
		nodes = s.fill(nodes, step.Request)
		s.Unfinished = slices.DeleteFunc(s.Unfinished, func(n contract.Node) bool { return isNamed(nodes, n.Name) })
	}
	slices.SortStableFunc(nodes, func(a, b contract.Node) int { return oneIf(controlPlane(b.Roles)) - oneIf(controlPlane(a.Roles)) })
	if step.Operation == contract.OperationAddControlPlane {
		nodes = s.joinEtcd(nodes)
	}
	if step.Operation == contract.OperationRestore {
		nodes, s.Restore, step.Request.Restore = allJoinEtcd(nodes), nil, nil
	}
	s.Installed = contract.Installed{Request: step.Request.Spec, Nodes: nodes, EtcdNext: s.Installed.EtcdNext, Patched: s.Installed.Patched}
	s.Installed.SettlePatched()
	return s
}

// upgraded returns the state after the step has upgraded its nodes.
func (s State) upgraded(step Step) State {
	s.Installed.Draining = slices.DeleteFunc(slices.Clone(s.Installed.Draining), func(name string) bool { return slices.Contains(step.Upgrade, name) })
	s.Installed.Nodes = slices.Clone(s.Installed.Nodes)
	for i, n := range s.Installed.Nodes {
		if slices.Contains(step.Upgrade, n.Name) {
			s.Installed.Nodes[i].Version, s.Installed.Nodes[i].Settings, s.Installed.Nodes[i].Target = step.Request.KubernetesVersion, step.Request.SettingsOf(n), nil
			if step.Request.Upgrade.Narrow != nil {
				s.Installed.Nodes[i].Target = n.Target.Unpatched()
			}
			if patch := step.Request.Upgrade.Patch; patch != "" {
				s.Installed.Nodes[i].Patched = patch
			}
		}
	}
	s.Installed.SettlePatched()
	if slices.ContainsFunc(s.Installed.Nodes, func(n contract.Node) bool { level, _ := s.Installed.Lacks(n, step.Request); return level }) {
		return s
	}
	s.Installed.Request = step.Request.Spec
	for i := range s.Installed.Nodes {
		s.Installed.Nodes[i].Version, s.Installed.Nodes[i].Settings = "", ""
	}
	return s
}

// joinEtcd makes new control planes members of etcd, as inventory.Members does. It gives them any
// name. If no name of a member is known, the rule of etcdMembers applies. Lost nodes that stay take no
// part in the run. If a node joins etcd, the lost ones are no members any more, because etcd accepts no
// new member while another one is down.
func (s State) joinEtcd(nodes []contract.Node) []contract.Node {
	members, planes := 0, 0
	for _, n := range etcdMembers(nodes) {
		members += oneIf(!s.lost(n))
	}
	for _, n := range nodes {
		planes += oneIf(controlPlane(n.Roles) && !s.lost(n))
	}
	joins := false
	for i, n := range nodes {
		if controlPlane(n.Roles) && !s.lost(n) && n.Etcd == "" && members < planes-(1-planes%2) {
			nodes[i].Etcd, joins = "new", true
			members++
		}
	}
	for i, n := range nodes {
		if joins && s.lost(n) {
			nodes[i].Etcd = ""
		}
	}
	return nodes
}

// allJoinEtcd makes control planes members of a new etcd, as many as inventory.Members does. It gives them
// any name.
func allJoinEtcd(nodes []contract.Node) []contract.Node {
	planes := 0
	for i := range nodes {
		nodes[i].Etcd = ""
		planes += oneIf(controlPlane(nodes[i].Roles))
	}
	for i := range planes - (1 - planes%2) { // they are first
		nodes[i].Etcd = "new"
	}
	return nodes
}

// fill adds the nodes that the request has in addition. The nodes of sets get the names of unfinished
// nodes, or else names with the lowest free numbers.
func (s State) fill(nodes []contract.Node, request contract.Request) []contract.Node {
	for _, slot := range request.Slots {
		if !slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Set == "" && n.Name == slot.Name }) {
			nodes = append(nodes, contract.Node{Name: slot.Name, Roles: slot.Roles})
		}
	}
	for _, set := range request.Sets {
		have := 0
		for _, n := range nodes {
			have += oneIf(n.Set == set.Name && !s.lost(n))
		}
		for ; have < set.Active; have++ {
			nodes = append(nodes, contract.Node{Name: s.newName(nodes, set.Name), Set: set.Name, Roles: set.Roles})
		}
	}
	return nodes
}

func (s State) newName(nodes []contract.Node, set string) string {
	for _, n := range s.Unfinished {
		if n.Set == set && !isNamed(nodes, n.Name) {
			return n.Name
		}
	}
	for number := 1; ; number++ {
		if name := fmt.Sprintf("%s-%d", set, number); !isNamed(nodes, name) {
			return name
		}
	}
}
