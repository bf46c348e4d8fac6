package change

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// step returns an operation whose request describes those installed nodes that stay, and some more
// nodes.
func (s State) step(operation string, add []contract.Slot, addSets map[string]int, stays func(contract.Node) bool) Step {
	return s.stepAt(s.levelOf(operation), operation, add, addSets, stays)
}

// stepAt is like step. New nodes get this level.
func (s State) stepAt(l level, operation string, add []contract.Slot, addSets map[string]int, stays func(contract.Node) bool) Step {
	r := s.Wanted
	was := s.Installed.Request
	r.NetworkPlugin, r.PodSubnet, r.ServiceSubnet, r.Access = was.NetworkPlugin, was.PodSubnet, was.ServiceSubnet, was.Access
	r = s.at(r, l)
	r.Operation, r.EtcdNext, r.Complete = operation, s.Installed.EtcdNext, true
	r.Patched = s.Installed.Patched
	r.Slots, r.Sets = nil, nil
	for _, slot := range s.Wanted.Slots {
		i := s.index(slot.Name)
		switch {
		case i < 0 && slices.ContainsFunc(add, func(a contract.Slot) bool { return a.Name == slot.Name }):
			r.Slots = append(r.Slots, slot)
		case i >= 0 && stays(s.Installed.Nodes[i]):
			r.Slots = append(r.Slots, s.kept(slot, s.Installed.Nodes[i]))
		}
	}
	for _, n := range s.Installed.Nodes {
		if n.Set == "" && !s.requested(n) && stays(n) {
			r.Slots = append(r.Slots, s.installedSlot(n))
		}
	}
	r.Slots = controlPlanesFirst(r.Slots)
	r.Sets = s.sets(addSets, stays)
	s.giveVars(&r, l.settings)
	r.Members = s.Installed.Stamped(r)
	return Step{Operation: operation, Request: r}
}

// kept returns the slot of a node that is installed: with the requirements of the spec, and with the
// roles that the node has. The roles can differ: if a spec has no workers, every control plane node
// is also a worker, and a node keeps this role if workers are added later.
func (s State) kept(slot contract.Slot, n contract.Node) contract.Slot {
	if s.moved(slot, n) {
		return s.installedSlot(n)
	}
	slot.Roles = n.Roles
	return slot
}

// installedSlot returns the slot from which a node was installed.
func (s State) installedSlot(n contract.Node) contract.Slot {
	for _, slot := range s.Installed.Request.Slots {
		if slot.Name == n.Name {
			slot.Roles = n.Roles
			return slot
		}
	}
	return contract.Slot{Name: n.Name, Roles: n.Roles}
}

// sets returns the node sets with the number of installed nodes that stay, and some more.
func (s State) sets(add map[string]int, stays func(contract.Node) bool) []contract.Set {
	active := func(set string) (n int) {
		for _, node := range s.Installed.Nodes {
			n += oneIf(node.Set == set && stays(node))
		}
		return n
	}
	var sets []contract.Set
	for _, set := range s.Wanted.Sets {
		set.Active, set.Roles = active(set.Name)+add[set.Name], s.setRoles(set.Name)
		if set.Active > 0 || set.Standby > 0 {
			sets = append(sets, set)
		}
	}
	for _, set := range s.Installed.Request.Sets {
		gone := !slices.ContainsFunc(s.Wanted.Sets, func(w contract.Set) bool { return w.Name == set.Name })
		set.Active, set.Standby, set.Roles = active(set.Name), 0, s.setRoles(set.Name)
		if gone && set.Active > 0 {
			sets = append(sets, set)
		}
	}
	return sets
}

// controlPlanesFirst puts control planes first, as in a request of the spec.
func controlPlanesFirst(slots []contract.Slot) []contract.Slot {
	slices.SortStableFunc(slots, func(a, b contract.Slot) int { return oneIf(controlPlane(b.Roles)) - oneIf(controlPlane(a.Roles)) })
	return slots
}
