package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// unfinished returns the nodes that a run is to add or to remove, because their hosts may contain a part
// of the cluster. If the newest run removed such a node, but could not reset its host, another run would
// not help, until a user requests one.
func (s Seen) unfinished() []contract.Node {
	silent := s.notReset()
	return slices.DeleteFunc(s.leftovers(), func(n contract.Node) bool {
		return slices.ContainsFunc(silent, func(o contract.Node) bool { return o.Host == n.Host })
	})
}

// notReset returns the nodes that the last run with another purpose than a kubeconfig or plugins has removed, and whose
// hosts did not answer. The run may have failed in a task after the removal.
func (s Seen) notReset() []contract.Node {
	last := s.LastChange()
	if last == nil || s.Memory == nil || s.Removal == nil || s.Retry != "" && s.Retry != last.Retry || s.Deleting {
		return nil
	}
	if t := last.task(contract.TaskKubespray); last.State != Succeeded && (last.State == Active || t == nil || t.State != Succeeded) {
		return nil
	}
	return slices.DeleteFunc(s.leftovers(), func(n contract.Node) bool { return !slices.Contains(s.Removal.Nodes, n.Name) })
}

// LastChange returns the newest run that is not only for a kubeconfig or for plugins; nil: there is none.
func (s Seen) LastChange() *Run {
	for i, r := range slices.Backward(s.Runs) {
		if r.Operation != contract.OperationCollect && r.Operation != contract.OperationPlugins {
			return &s.Runs[i]
		}
	}
	return nil
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
		// The list of nodes lacks it if a later run has chosen hosts while this one was in quarantine.
		n := contract.Node{Name: cmp.Or(h.Labels[contract.LabelNode], name), Host: name, HostUID: h.UID, Roles: []string{contract.RoleWorker}}
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
	if s.Memory == nil || !s.Complete() || s.Paused || s.Invalid != "" || s.endsEarly || len(s.ActiveRuns())+len(s.Leftovers) > 0 {
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
