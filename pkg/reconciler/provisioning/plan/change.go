package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// nextChange returns the next operation that makes the installed cluster the requested one; false:
// the cluster has the requested nodes, or no cluster is installed.
func (s Seen) nextChange() (change.Step, bool) {
	if s.Memory == nil || !s.Complete() || s.Invalid != "" {
		return change.Step{}, false
	}
	return change.Next(s.State())
}

// State returns what is installed and what is requested, as package change needs it.
func (s Seen) State() change.State {
	state := change.State{
		Wanted: s.Request, Unfinished: s.unfinished(), Lost: map[string]bool{}, Domains: map[string]string{},
		DrainSeconds: int(s.Limits.Drain / time.Second), RemoveFirst: s.RemoveFirst,
	}
	if s.Memory != nil {
		state.Installed = *s.Memory
	}
	for _, n := range state.Installed.Nodes {
		h := s.Site[n.Host]
		if h.Trouble != "" {
			state.Trouble = append(state.Trouble, n.Name)
		}
		if set := s.set(n.Set); set != nil && set.Spread != nil {
			state.Domains[n.Name] = h.Labels[set.Spread.TopologyKey]
		}
	}
	replaced := s.replaced()
	for _, l := range s.losses() {
		if !l.Node.Standby {
			state.Lost[l.Node.Name] = slices.Contains(replaced, l.Key())
		}
	}
	return state
}

func (s Seen) set(name string) *contract.Set {
	i := slices.IndexFunc(s.Sets, func(set contract.Set) bool { return set.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Sets[i]
}

// replaced returns the keys of the losses that may be repaired now: those that the policy permits,
// those of a failed run that is repeated, and all of them if a user has requested a run.
func (s Seen) replaced() []string {
	var keys []string
	newest := s.Newest()
	again := newest != nil && newest.State == Failed && contract.OperationOf(newest.Operation).ChangesCluster() &&
		(s.wanted(*newest) || s.policy() != v1alpha1.ReplaceNever)
	due := s.due()
	for _, l := range s.losses() {
		if l.Node.Standby {
			continue
		}
		if controlPlane(l.Node) && !s.quorum() {
			continue
		}
		isDue := slices.ContainsFunc(due, func(d Loss) bool { return d.Key() == l.Key() })
		if isDue || again && slices.Contains(newest.Replaces, l.Key()) || s.asked() && !s.repaired(l) {
			keys = append(keys, l.Key())
		}
	}
	return keys
}

// quorum reports whether most members of etcd have their hosts. Otherwise the API server of the
// cluster does not answer, and no node can be added or removed.
func (s Seen) quorum() bool {
	lost := s.lostControlPlanes()
	return change.Quorum(s.members(), func(n contract.Node) bool {
		return slices.ContainsFunc(lost, func(l Loss) bool { return l.Node.Name == n.Name })
	})
}

// repaired reports whether the newest run has repaired the loss, even if the list of nodes still has
// the lost node.
func (s Seen) repaired(l Loss) bool {
	newest := s.Newest()
	return newest != nil && newest.State == Succeeded && slices.Contains(newest.Replaces, l.Key())
}

// members returns the nodes of the installed cluster. Without a record these are the nodes that
// select-hosts has stored.
func (s Seen) members() []contract.Node {
	if s.Memory != nil && s.Complete() {
		return s.Memory.Nodes
	}
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(n contract.Node) bool { return n.Standby })
}

// isMember reports whether the host is that of a node of the installed cluster.
func (s Seen) isMember(host string) bool {
	return slices.ContainsFunc(s.members(), func(n contract.Node) bool { return n.Host == host })
}

// unfinished returns the nodes that a run is to add or to remove, because their hosts may contain a part
// of the cluster. If the newest run removed such a node, but could not reset its host, another run would
// not help, until a user requests one.
func (s Seen) unfinished() []contract.Node {
	silent := s.notReset()
	return slices.DeleteFunc(s.leftovers(), func(n contract.Node) bool {
		return slices.ContainsFunc(silent, func(o contract.Node) bool { return o.Host == n.Host })
	})
}

// notReset returns the nodes that the newest run has removed, and whose hosts did not answer.
func (s Seen) notReset() []contract.Node {
	newest := s.Newest()
	if newest == nil || newest.State != Succeeded || s.Memory == nil || s.Started.Remove == nil || s.asked() || s.Deleting {
		return nil
	}
	return slices.DeleteFunc(s.leftovers(), func(n contract.Node) bool { return !slices.Contains(s.Started.Remove.Nodes, n.Name) })
}

// leftovers returns the nodes on claimed hosts that may contain a part of the cluster although they
// are not in the record: a run that was to add them has failed, or a lost host is back after another
// host has replaced it.
func (s Seen) leftovers() []contract.Node {
	var all []contract.Node
	for _, name := range slices.Sorted(maps.Keys(s.Site)) {
		h := s.Site[name]
		if !h.Ours || h.Lost || h.Leaving || !s.used(h) || s.isMember(name) {
			continue
		}
		n := contract.Node{Name: name, Host: name, HostUID: h.UID, Roles: []string{contract.RoleWorker}}
		if i := slices.IndexFunc(s.Nodes, func(n contract.Node) bool { return n.Host == name && n.HostUID == h.UID }); i >= 0 {
			n = s.Nodes[i]
		}
		taken := func(o contract.Node) bool { return o.Name == n.Name }
		if slices.ContainsFunc(s.members(), taken) || slices.ContainsFunc(all, taken) {
			if n.Name = name; slices.ContainsFunc(s.members(), taken) || slices.ContainsFunc(all, taken) {
				continue // the names of the host and of its node are both those of other nodes
			}
		}
		all = append(all, n)
	}
	return all
}

// surplusHosts returns the names, sorted, of claimed hosts of an installed cluster that have no use
// any more and that contain no part of the cluster: hosts of removed nodes after their reset, hosts
// of nodes that were not installed yet and are not requested any more, and surplus standby hosts.
func (s Seen) surplusHosts() []string {
	if s.Memory == nil || !s.Complete() || s.Paused || s.Invalid != "" || len(s.ActiveRuns())+len(s.Leftovers) > 0 {
		return nil
	}
	step, changes := s.nextChange()
	adds := changes && contract.OperationOf(step.Operation).Has(contract.TaskSelectHosts)
	keep := s.expected()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Site)) {
		h := s.Site[name]
		if !h.Ours || !h.Claimed || h.Leaving || h.Lost || s.used(h) || s.isMember(name) || slices.Contains(keep, name) {
			continue
		}
		listed := slices.ContainsFunc(s.Nodes, func(n contract.Node) bool { return n.Host == name })
		if listed || !adds { // the next run may use a host that an interrupted select-hosts has claimed
			names = append(names, name)
		}
	}
	return names
}

// expected returns the hosts of the nodes that select-hosts has chosen, that are not installed, and
// that the spec still requests: standby hosts, and hosts that a failed run was to add.
func (s Seen) expected() []string {
	free := map[string]int{}
	for _, set := range s.Sets {
		free[set.Name] = set.Active
	}
	for _, n := range s.members() {
		if h := s.Site[n.Host]; n.Set != "" && h.Ours && !h.Lost {
			free[n.Set]--
		}
	}
	var hosts []string
	standby := map[string]int{}
	for _, n := range s.Nodes {
		set := s.set(n.Set)
		switch {
		case s.isMember(n.Host):
		case n.Set == "":
			if slices.ContainsFunc(s.Request.Slots, func(slot contract.Slot) bool {
				return slot.Name == n.Name && (slot.MAC == "" || len(n.MACs) == 0 || slices.Contains(n.MACs, slot.MAC))
			}) {
				hosts = append(hosts, n.Host)
			}
		case set == nil:
		case n.Standby && standby[n.Set] < set.Standby:
			standby[n.Set]++
			hosts = append(hosts, n.Host)
		case !n.Standby && free[n.Set] > 0:
			free[n.Set]--
			hosts = append(hosts, n.Host)
		}
	}
	return hosts
}

// surplus releases claimed hosts of an installed cluster that have no use any more.
func surplusClaims(s Seen, _ time.Time) (Step, bool) {
	names := s.surplusHosts()
	if s.Deleting {
		return Step{}, false
	}
	return Step{Do: GiveBack, Hosts: names, Reason: ReasonGivingBack, After: recheck, Message: fmt.Sprintf(
		"releasing %s, which the cluster does not use any more", some(names, ", "))}, len(names) > 0
}

// refused returns the parts of the spec that are not applied to the installed cluster. With
// blocking, it returns only those that keep every operation from starting.
func (s Seen) refused(blocking bool) []change.Refusal {
	if s.Memory == nil || !s.Complete() || s.Invalid != "" {
		return nil
	}
	return slices.DeleteFunc(change.Refused(s.State()), func(r change.Refusal) bool { return blocking && !r.Blocks })
}

// refusedText lists the refused parts of the spec.
func refusedText(all []change.Refusal) string {
	var texts []string
	for _, r := range all {
		texts = append(texts, r.Text)
	}
	return some(texts, ", ")
}

// Upcoming returns the run that would start now if its preconditions were met and a run were free.
// Only if there is one does the controller check hosts and keys, and ask the API server itself whether
// hosts are lost.
func Upcoming(s Seen, now time.Time) (Step, bool) {
	s.Hosts, s.SSH, s.Queue = &Need{}, &Need{}, nil
	s.Site = maps.Clone(s.Site)
	for name, h := range s.Site {
		h.Live = true
		s.Site[name] = h
	}
	step := Next(s, now)
	return step, step.Do == StartRun
}

// Starting reports whether a run would start now if its preconditions were met.
func Starting(s Seen, now time.Time) bool {
	_, starts := Upcoming(s, now)
	return starts
}

// removes reports whether the record or the active run says that the node is being removed. A node that
// was drained can only leave. A node that is only cordoned is schedulable again when its run ends.
func (s Seen) removes(n contract.Node) bool {
	if s.Memory != nil && slices.Contains(s.Memory.Leaving, n.Name) {
		return true
	}
	if r := s.Newest(); r == nil || r.State != Active || !contract.OperationOf(r.Operation).ChangesCluster() {
		return false
	}
	return s.Memory != nil && slices.Contains(s.Memory.Draining, n.Name) || s.Started.Remove != nil && slices.Contains(s.Started.Remove.Nodes, n.Name)
}

// pending returns the next change that an edit requests, in words. It is empty if there is none, or if
// the next run only repairs a loss.
func (s Seen) pending() string {
	step, ok := s.nextChange()
	if !ok || len(step.Replace) > 0 && len(step.Add)+len(step.Remove)+len(step.Uncordon) == 0 {
		return ""
	}
	return step.String()
}

// waiting returns the losses that keep the requested nodes from being added.
func (s Seen) waiting() []Loss {
	if s.Memory == nil || !s.Complete() || s.Invalid != "" {
		return nil
	}
	names := change.Waiting(s.State())
	return slices.DeleteFunc(s.losses(), func(l Loss) bool { return l.Node.Standby || !slices.Contains(names, l.Node.Name) })
}

// nodes returns the nodes that select-hosts has stored, and those nodes of the record that are not
// among them: a run that adds nodes leaves out lost nodes that it does not replace.
func (s Seen) nodes() []contract.Node {
	all := slices.Clone(s.Nodes)
	if s.Memory == nil || !s.Complete() {
		return all
	}
	for _, n := range s.Memory.Nodes {
		if !slices.ContainsFunc(all, func(o contract.Node) bool { return o.Host == n.Host || o.Name == n.Name }) {
			all = append(all, n)
		}
	}
	return all
}

// Remember rebuilds the record of an installed cluster, if it is lost or if an older build of BPA
// installed the cluster, which wrote none. If the sources contradict each other, there is no record,
// and nothing is changed. held are the nodes as the labels of the claimed hosts
// describe them. Members of etcd get the names that kubespray gives them by their position.
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
	case len(nodes) == 0:
		nodes = slices.DeleteFunc(slices.Clone(held), func(n contract.Node) bool { return n.Standby })
	}
	for _, n := range s.Started.Members { // a lost node that the run did not replace
		listed := slices.ContainsFunc(nodes, func(o contract.Node) bool { return o.Host == n.Host || o.Name == n.Name })
		if !failed && s.Started.Remove == nil && !listed && !slices.Contains(s.Started.Lost, n.Name) {
			lost = append(lost, n)
		}
	}
	if removed := s.Started.Remove; removed != nil && !failed {
		nodes = slices.DeleteFunc(nodes, func(n contract.Node) bool { return slices.Contains(removed.Nodes, n.Name) })
	}
	request := s.Started
	if request.Provisioning == "" {
		request = s.Request
	}
	if !failed && !describes(request, nodes) {
		return
	}
	nodes = slices.Concat(nodes, lost)
	slices.SortStableFunc(nodes, func(a, b contract.Node) int { return order(a) - order(b) })
	memory := &contract.Installed{Request: request, Nodes: nameMembers(nodes), EtcdNext: s.Started.EtcdNext}
	if memory.EtcdNext == 0 {
		memory.EtcdNext = len(nodes) + 1
	}
	s.Memory = memory
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
	planes := 0
	for _, n := range nodes {
		if n.Etcd != "" {
			return nodes
		}
		if controlPlane(n) {
			planes++
		}
	}
	nodes = slices.Clone(nodes)
	for i := range planes - (1 - planes%2) {
		nodes[i].Etcd = fmt.Sprintf("etcd%d", i+1)
	}
	return nodes
}

// policy returns the replacement policy, with its default.
func (s Seen) policy() v1alpha1.ReplacePolicy {
	if s.Replace == "" {
		return v1alpha1.ReplaceStandby
	}
	return s.Replace
}

// keysOf returns the keys of the losses of these nodes.
func (s Seen) keysOf(nodes []string) []string {
	var keys []string
	for _, l := range s.losses() {
		if slices.Contains(nodes, l.Node.Name) && !l.Node.Standby {
			keys = append(keys, l.Key())
		}
	}
	return keys
}

// requests reports whether the spec requests the node, or its set.
func (s Seen) requests(n contract.Node) bool {
	if n.Set != "" {
		return s.set(n.Set) != nil
	}
	return slices.Contains(s.Slots, n.Name)
}
