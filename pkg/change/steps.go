package change

import (
	"maps"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// addControlPlane adds or replaces one control plane node. Lost ones are replaced first, because the
// cluster has the least reserve without them.
func (s State) addControlPlane(d difference) (Step, bool) {
	for _, n := range d.replace {
		if controlPlane(n.Roles) {
			step := s.step(contract.OperationAddControlPlane, nil, nil)
			step.Replace = []string{n.Name}
			step.Request.Lost = step.Replace
			return step, true
		}
	}
	for _, slot := range d.addSlots {
		if controlPlane(slot.Roles) {
			step := s.step(contract.OperationAddControlPlane, []contract.Slot{slot}, nil)
			step.Add = []string{slot.Name}
			return step, true
		}
	}
	for _, set := range slices.Sorted(maps.Keys(d.addSets)) {
		if controlPlane(s.setRoles(set)) {
			step := s.step(contract.OperationAddControlPlane, nil, map[string]int{set: 1})
			step.Add = []string{numberOf(1, set)}
			return step, true
		}
	}
	return Step{}, false
}

// addNodes adds and replaces all workers at once.
func (s State) addNodes(d difference) (Step, bool) {
	var slots []contract.Slot
	var add, replace []string
	for _, n := range d.replace {
		if !controlPlane(n.Roles) {
			replace = append(replace, n.Name)
		}
	}
	for _, slot := range d.addSlots {
		if !controlPlane(slot.Roles) {
			slots, add = append(slots, slot), append(add, slot.Name)
		}
	}
	sets := map[string]int{}
	for _, set := range slices.Sorted(maps.Keys(d.addSets)) {
		if !controlPlane(s.setRoles(set)) {
			sets[set] = d.addSets[set]
			add = append(add, numberOf(sets[set], set))
		}
	}
	if len(add)+len(replace) == 0 && !d.standby {
		return Step{}, false
	}
	step := s.step(contract.OperationAddNodes, slots, sets)
	step.Add, step.Replace, step.Standby = add, replace, d.standby
	step.Request.Lost = replace
	return step, true
}

// removeNodes removes all surplus workers in one run.
func (s State) removeNodes(d difference) (Step, bool) {
	removal := &contract.Removal{DrainSeconds: s.DrainSeconds}
	var remove []contract.Node
	var words []string
	for _, n := range d.remove {
		if !controlPlane(n.Roles) {
			remove, words = append(remove, n), append(words, n.Name)
		}
	}
	for _, set := range slices.Sorted(maps.Keys(d.removeSets)) {
		if !controlPlane(s.setRoles(set)) {
			removal.Sets = append(removal.Sets, s.setRemoval(set, d.removeSets[set], d.remove))
			words = append(words, numberOf(d.removeSets[set], set))
		}
	}
	if len(words) == 0 {
		return Step{}, false
	}
	return s.removal(contract.OperationRemoveNodes, removal, remove, words), true
}

// removeControlPlane removes one control plane node, but never the last one.
func (s State) removeControlPlane(d difference) (Step, bool) {
	left := 0
	for _, n := range s.Installed.Nodes {
		if _, lost := s.Lost[n.Name]; controlPlane(n.Roles) && !lost {
			left++
		}
	}
	removal := &contract.Removal{DrainSeconds: s.DrainSeconds}
	for _, n := range d.remove {
		_, lost := s.Lost[n.Name]
		if controlPlane(n.Roles) && (left > 1 || lost || s.index(n.Name) < 0 && n.Set == "") {
			return s.removal(contract.OperationRemoveControlPlane, removal, []contract.Node{n}, []string{n.Name}), true
		}
	}
	for _, set := range slices.Sorted(maps.Keys(d.removeSets)) {
		if controlPlane(s.setRoles(set)) && left > 1 {
			removal.Sets = []contract.SetRemoval{s.setRemoval(set, 1, d.remove)}
			return s.removal(contract.OperationRemoveControlPlane, removal, nil, []string{numberOf(1, set)}), true
		}
	}
	return Step{}, false
}

// finishRemoval completes the removal of nodes that were drained already, even if they are requested
// again.
func (s State) finishRemoval(difference) (Step, bool) {
	var workers, planes []contract.Node
	for _, n := range s.Installed.Nodes {
		switch {
		case !slices.Contains(s.Installed.Leaving, n.Name):
		case controlPlane(n.Roles):
			planes = append(planes, n)
		default:
			workers = append(workers, n)
		}
	}
	removal := &contract.Removal{DrainSeconds: s.DrainSeconds}
	switch {
	case len(workers) > 0:
		return s.removal(contract.OperationRemoveNodes, removal, workers, names(workers)), true
	case len(planes) > 0:
		return s.removal(contract.OperationRemoveControlPlane, removal, planes[:1], names(planes[:1])), true
	}
	return Step{}, false
}

// uncordon makes nodes schedulable again whose removal is not requested any more.
func (s State) uncordon(difference) (Step, bool) {
	if len(s.Installed.Draining) == 0 {
		return Step{}, false
	}
	return s.removal(contract.OperationRemoveNodes, &contract.Removal{DrainSeconds: s.DrainSeconds}, nil, nil), true
}

func (s State) removal(operation string, removal *contract.Removal, nodes []contract.Node, words []string) Step {
	step := s.step(operation, nil, nil)
	removal.Nodes = names(nodes)
	step.Request.Remove, step.Remove = removal, words
	step.Request.Slots = slices.DeleteFunc(step.Request.Slots, func(slot contract.Slot) bool { return slices.Contains(removal.Nodes, slot.Name) })
	for i := range step.Request.Sets {
		set := &step.Request.Sets[i]
		for _, n := range nodes {
			set.Active -= oneIf(n.Set == set.Name && s.installed(n))
		}
		for _, r := range removal.Sets {
			set.Active -= oneIf(r.Name == set.Name) * r.Count
		}
	}
	step.Request.Sets = slices.DeleteFunc(step.Request.Sets, func(set contract.Set) bool { return set.Active <= 0 && set.Standby == 0 })
	for _, n := range nodes {
		if _, lost := s.Lost[n.Name]; lost {
			step.Request.Lost = append(step.Request.Lost, n.Name)
		}
	}
	return step
}

func (s State) installed(n contract.Node) bool {
	return slices.ContainsFunc(s.Installed.Nodes, func(i contract.Node) bool { return i.Name == n.Name && i.HostUID == n.HostUID })
}

// setRemoval returns the candidates of a set, without the nodes that leave it anyway.
func (s State) setRemoval(set string, number int, leave []contract.Node) contract.SetRemoval {
	r := contract.SetRemoval{Name: set, Count: number}
	for _, n := range s.Installed.Nodes {
		if n.Set != set || slices.ContainsFunc(leave, func(l contract.Node) bool { return l.Name == n.Name }) {
			continue
		}
		_, lost := s.Lost[n.Name]
		r.Candidates = append(r.Candidates, contract.Candidate{Node: n.Name, Domain: s.Domains[n.Name], Trouble: lost || slices.Contains(s.Trouble, n.Name)})
	}
	return r
}

// step returns an operation whose request describes the installed cluster with some more nodes.
func (s State) step(operation string, add []contract.Slot, addSets map[string]int) Step {
	r := s.Wanted
	was := s.Installed.Request
	r.KubernetesVersion, r.Release, r.NetworkPlugin = was.KubernetesVersion, was.Release, was.NetworkPlugin
	r.PodSubnet, r.ServiceSubnet, r.Vars, r.Access = was.PodSubnet, was.ServiceSubnet, was.Vars, was.Access
	r.Operation, r.Members, r.EtcdNext, r.Complete = operation, s.Installed.Nodes, s.Installed.EtcdNext, true
	r.Slots, r.Sets = nil, nil
	for _, slot := range s.Wanted.Slots {
		i := s.index(slot.Name)
		switch {
		case i < 0 && slices.ContainsFunc(add, func(a contract.Slot) bool { return a.Name == slot.Name }):
			r.Slots = append(r.Slots, slot)
		case i >= 0:
			r.Slots = append(r.Slots, s.kept(slot, s.Installed.Nodes[i]))
		}
	}
	for _, n := range s.Installed.Nodes {
		if n.Set == "" && !s.requested(n) {
			r.Slots = append(r.Slots, s.installedSlot(n))
		}
	}
	r.Slots = controlPlanesFirst(r.Slots)
	r.Sets = s.sets(addSets)
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

// sets returns the node sets with the number of nodes that are installed, and some more. All nodes
// of a set have the roles of those that are installed, for the reason that kept gives.
func (s State) sets(add map[string]int) []contract.Set {
	var sets []contract.Set
	for _, set := range s.Wanted.Sets {
		set.Active = s.active(set.Name) + add[set.Name]
		if i := slices.IndexFunc(s.Installed.Nodes, func(n contract.Node) bool { return n.Set == set.Name }); i >= 0 {
			set.Roles = s.Installed.Nodes[i].Roles
		}
		if set.Active > 0 || set.Standby > 0 {
			sets = append(sets, set)
		}
	}
	for _, set := range s.Installed.Request.Sets {
		gone := !slices.ContainsFunc(s.Wanted.Sets, func(w contract.Set) bool { return w.Name == set.Name })
		set.Active, set.Standby = s.active(set.Name), 0
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

// after returns the state after the step has succeeded. New nodes have no hosts.
func (s State) after(step Step) State {
	in := s.Installed
	gone := func(n contract.Node) bool {
		return step.Request.Remove != nil && slices.Contains(step.Request.Remove.Nodes, n.Name)
	}
	s.Unfinished = slices.DeleteFunc(slices.Clone(s.Unfinished), gone)
	nodes := slices.DeleteFunc(slices.Clone(in.Nodes), gone)
	for _, slot := range step.Request.Slots {
		if !slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Set == "" && n.Name == slot.Name }) {
			nodes = append(nodes, contract.Node{Name: slot.Name, Roles: slot.Roles})
		}
	}
	lost := maps.Clone(s.Lost)
	for _, name := range step.Replace {
		delete(lost, name)
	}
	s.Installed = contract.Installed{Request: step.Request, Nodes: nodes, EtcdNext: in.EtcdNext}
	for _, set := range step.Request.Sets {
		s.Installed.Nodes = resize(s.Installed.Nodes, set)
	}
	s.Lost = lost
	return s
}

// resize gives a set as many nodes as it has places. Which nodes leave is not known here.
func resize(nodes []contract.Node, set contract.Set) []contract.Node {
	have := 0
	nodes = slices.DeleteFunc(nodes, func(n contract.Node) bool {
		have += oneIf(n.Set == set.Name)
		return n.Set == set.Name && have > set.Active
	})
	for n := have; n < set.Active; n++ {
		nodes = append(nodes, contract.Node{Set: set.Name, Roles: set.Roles})
	}
	return nodes
}

func names(nodes []contract.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Claim returns the operation that claims missing standby hosts of the installed cluster.
func Claim(s State) Step {
	step := s.step(contract.OperationAddNodes, nil, nil)
	step.Standby = true
	return step
}
