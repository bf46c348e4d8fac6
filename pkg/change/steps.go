package change

import (
	"maps"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// addControlPlane adds or replaces one control plane node. Lost ones are replaced first, because the
// cluster has the least reserve without them. If another one must leave before the addition, it returns
// this removal.
func (s State) addControlPlane(d difference) (Step, bool) {
	for _, n := range d.replace {
		if controlPlane(n.Roles) {
			return s.addition(contract.OperationAddControlPlane, nil, nil, []string{n.Name}), true
		}
	}
	if s.evenAfter(d) {
		if step, ok := s.removeControlPlane(d); ok {
			return step, true
		}
	}
	for _, slot := range d.addSlots {
		if controlPlane(slot.Roles) {
			return s.addition(contract.OperationAddControlPlane, []contract.Slot{slot}, nil, nil), true
		}
	}
	for _, set := range slices.Sorted(maps.Keys(d.addSets)) {
		if controlPlane(s.setRoles(set)) {
			return s.addition(contract.OperationAddControlPlane, nil, map[string]int{set: 1}, nil), true
		}
	}
	return Step{}, false
}

// evenAfter reports whether the number of control planes is even after the last addition. Then one of
// them is no member of etcd, and nothing makes it one later. If a member left after that, etcd would
// have too few members. So a control plane that is not requested leaves before such an addition.
func (s State) evenAfter(d difference) bool {
	planes, added := 0, 0
	for _, n := range s.Installed.Nodes {
		planes += oneIf(controlPlane(n.Roles) && !s.lost(n))
	}
	for _, slot := range d.addSlots {
		added += oneIf(controlPlane(slot.Roles))
	}
	for set, number := range d.addSets {
		added += oneIf(controlPlane(s.setRoles(set))) * number
	}
	return added == 1 && planes%2 == 1
}

// addNodes adds and replaces all workers at once.
func (s State) addNodes(d difference) (Step, bool) {
	var slots []contract.Slot
	var replace []string
	for _, n := range d.replace {
		if !controlPlane(n.Roles) {
			replace = append(replace, n.Name)
		}
	}
	for _, slot := range d.addSlots {
		if !controlPlane(slot.Roles) {
			slots = append(slots, slot)
		}
	}
	sets := maps.Clone(d.addSets)
	maps.DeleteFunc(sets, func(set string, _ int) bool { return controlPlane(s.setRoles(set)) })
	if len(slots)+len(sets)+len(replace) == 0 && !d.standby {
		return Step{}, false
	}
	step := s.addition(contract.OperationAddNodes, slots, sets, replace)
	step.Standby = d.standby
	return step, true
}

// addition returns an operation that adds these nodes and replaces lost ones. Its request has no
// other lost nodes, because the run chooses a host for each node of its request. The run does not
// choose the hosts of nodes that wait: such a host may still run its node.
func (s State) addition(operation string, slots []contract.Slot, sets map[string]int, replace []string) Step {
	step := s.step(operation, slots, sets, func(n contract.Node) bool { return !s.lost(n) || slices.Contains(replace, n.Name) })
	for _, slot := range slots {
		step.Add = append(step.Add, slot.Name)
	}
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		step.Add = append(step.Add, numberOf(sets[set], set))
	}
	step.Replace = replace
	step.Request.Lost, step.Request.Kept = s.losses(replace)
	step.Request.Unreset = s.unreset()
	for _, n := range s.waiting() {
		step.Request.PassedOver = append(step.Request.PassedOver, n.Host)
	}
	return step
}

// removeLostNodes removes lost workers that are not requested. They have a run of their own, so that
// they do not wait until the pods of others have moved. It comes before additions, so that no addition
// takes the host of such a node.
func (s State) removeLostNodes(d difference) (Step, bool) {
	lost := slices.DeleteFunc(s.lostOf(d.remove), func(n contract.Node) bool { return controlPlane(n.Roles) })
	return s.removal(contract.OperationRemoveNodes, lost, nil), len(lost) > 0
}

// removeNodes removes all other surplus workers in one run.
func (s State) removeNodes(d difference) (Step, bool) {
	workers := slices.DeleteFunc(slices.Clone(d.remove), func(n contract.Node) bool { return controlPlane(n.Roles) })
	var sets []contract.SetRemoval
	for _, set := range slices.Sorted(maps.Keys(d.removeSets)) {
		if !controlPlane(s.setRoles(set)) {
			sets = append(sets, s.setRemoval(set, d.removeSets[set], d.remove))
		}
	}
	if len(workers)+len(sets) == 0 {
		return Step{}, false
	}
	return s.removal(contract.OperationRemoveNodes, workers, sets), true
}

// removeNamesakes removes unfinished nodes whose names other hosts are to get.
func (s State) removeNamesakes(d difference) (Step, bool) {
	for _, n := range d.remove {
		if !s.installed(n) && slices.ContainsFunc(d.addSlots, func(slot contract.Slot) bool { return slot.Name == n.Name }) {
			return s.removal(operationToRemove(n), []contract.Node{n}, nil), true
		}
	}
	return Step{}, false
}

func operationToRemove(n contract.Node) string {
	if controlPlane(n.Roles) {
		return contract.OperationRemoveControlPlane
	}
	return contract.OperationRemoveNodes
}

// removeLostControlPlane removes a lost control plane node that is not requested. It comes before
// additions: etcd has the least reserve with a dead member.
func (s State) removeLostControlPlane(d difference) (Step, bool) {
	for _, n := range s.lostOf(d.remove) {
		if controlPlane(n.Roles) && s.whyStays(n) == "" {
			return s.removal(contract.OperationRemoveControlPlane, []contract.Node{n}, nil), true
		}
	}
	return Step{}, false
}

// removeControlPlane removes one control plane node, but never the last one, and never one without
// which etcd has no majority.
func (s State) removeControlPlane(d difference) (Step, bool) {
	for _, n := range d.remove {
		if controlPlane(n.Roles) && (!s.installed(n) || s.whyStays(n) == "") {
			return s.removal(contract.OperationRemoveControlPlane, []contract.Node{n}, nil), true
		}
	}
	for _, set := range slices.Sorted(maps.Keys(d.removeSets)) {
		if !controlPlane(s.setRoles(set)) {
			continue
		}
		stays := slices.DeleteFunc(slices.Clone(s.Installed.Nodes), func(n contract.Node) bool { return n.Set == set && s.whyStays(n) == "" })
		if removal := s.setRemoval(set, 1, append(stays, d.remove...)); len(removal.Candidates) > 0 {
			return s.removal(contract.OperationRemoveControlPlane, nil, []contract.SetRemoval{removal}), true
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
		case !controlPlane(n.Roles):
			workers = append(workers, n)
		case s.whyStays(n) == "": // otherwise a control plane was lost in the meantime, which is replaced first
			planes = append(planes, n)
		}
	}
	switch {
	case len(workers) > 0:
		return s.removal(contract.OperationRemoveNodes, workers, nil), true
	case len(planes) > 0:
		return s.removal(contract.OperationRemoveControlPlane, planes[:1], nil), true
	}
	return Step{}, false
}

// uncordon makes nodes schedulable again whose removal is not requested any more.
func (s State) uncordon(difference) (Step, bool) {
	step := Check(s)
	for _, n := range s.Installed.Nodes {
		if slices.Contains(s.Installed.Draining, n.Name) {
			step.Uncordon = append(step.Uncordon, n.Name)
		}
	}
	return step, len(step.Uncordon) > 0
}

// removal returns an operation that removes these nodes, and some nodes of these sets. It claims no
// standby hosts. The task drains lost nodes that are Ready, too: a host in quarantine may still work.
func (s State) removal(operation string, nodes []contract.Node, sets []contract.SetRemoval) Step {
	step := s.step(operation, nil, nil, func(n contract.Node) bool { return !s.installed(n) || !isNamed(nodes, n.Name) })
	removal := &contract.Removal{Nodes: names(nodes), Sets: sets, DrainSeconds: s.DrainSeconds, DrainsSeconds: s.DrainsSeconds}
	step.Remove = names(nodes)
	for _, r := range sets {
		step.Remove = append(step.Remove, numberOf(r.Count, r.Name))
		for i := range step.Request.Sets {
			step.Request.Sets[i].Active -= oneIf(step.Request.Sets[i].Name == r.Name) * r.Count
		}
	}
	for i := range step.Request.Sets {
		set := &step.Request.Sets[i]
		set.Standby = min(set.Standby, s.standby(set.Name))
	}
	step.Request.Sets = slices.DeleteFunc(step.Request.Sets, func(set contract.Set) bool { return set.Active <= 0 && set.Standby == 0 })
	step.Request.Remove = removal
	step.Request.Lost, step.Request.Kept = s.losses(names(nodes))
	return step
}

// losses returns the names of all lost nodes, and of those that stay because they are not among the
// nodes that leave. The task must know both: it must not wait for any of them.
func (s State) losses(leave []string) (lost, kept []string) {
	lost = names(s.lostOf(s.Installed.Nodes))
	kept = slices.DeleteFunc(slices.Clone(lost), func(name string) bool { return slices.Contains(leave, name) })
	return lost, kept
}

// lostOf returns those of the nodes that are installed and lost.
func (s State) lostOf(nodes []contract.Node) []contract.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return !s.installed(n) || !s.lost(n) })
}

func (s State) installed(n contract.Node) bool {
	return slices.ContainsFunc(s.Installed.Nodes, func(i contract.Node) bool { return i.Name == n.Name && i.HostUID == n.HostUID })
}

// setRemoval returns the candidates of a set, without the nodes that leave it anyway.
func (s State) setRemoval(set string, number int, leave []contract.Node) contract.SetRemoval {
	r := contract.SetRemoval{Name: set, Count: number}
	for _, n := range s.Installed.Nodes {
		if n.Set == set && !isNamed(leave, n.Name) {
			trouble := s.lost(n) || slices.Contains(s.Trouble, n.Name)
			r.Candidates = append(r.Candidates, contract.Candidate{Node: n.Name, Domain: s.Domains[n.Name], Trouble: trouble})
		}
	}
	return r
}

// Claim returns the operation that claims missing standby hosts of the installed cluster.
func Claim(s State) Step {
	step := s.addition(contract.OperationAddNodes, nil, nil, nil)
	step.Standby = true
	return step
}

// Moved returns a request that describes the cluster after nodes were installed on the hosts to which
// they are now pinned, or on others than those in quarantine on which they work. These nodes are those
// that removal, the request of the next step, removes only for that. Without such nodes, it returns
// false. A node is not removed before there is a host for
// it. Nodes on lost hosts, and nodes that were drained already, leave in any case.
func Moved(s State, removal contract.Request) (contract.Request, bool) {
	if removal.Remove == nil {
		return contract.Request{}, false
	}
	var slots []contract.Slot
	for _, slot := range s.Wanted.Slots {
		i := s.index(slot.Name)
		if i < 0 || !slices.Contains(removal.Remove.Nodes, slot.Name) || slices.Contains(s.Installed.Leaving, slot.Name) {
			continue
		}
		if n := s.Installed.Nodes[i]; s.moved(slot, n) && !s.lost(n) {
			slots = append(slots, slot)
		}
	}
	leave := s.compare().remove // their hosts may be those of the moved nodes
	alive := removal.Remove.Alive
	s.Installed.Nodes = slices.DeleteFunc(slices.Clone(s.Installed.Nodes), func(n contract.Node) bool { return isNamed(leave, n.Name) })
	return s.addition(contract.OperationAddNodes, slots, nil, alive).Request, len(slots)+len(alive) > 0
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

// Check returns an operation that removes nothing and checks that the cluster is healthy.
func Check(s State) Step { return s.removal(contract.OperationRemoveNodes, nil, nil) }
