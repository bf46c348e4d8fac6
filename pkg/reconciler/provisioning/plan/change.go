package plan

import (
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
	n := derive(s, func(d *derived) *once[nextStep] { return &d.next }, func() (n nextStep) {
		n.step, n.changes = change.Next(s.State())
		return n
	})
	return n.step, n.changes
}

// State returns what is installed and what is requested, as package change needs it.
func (s Seen) State() change.State {
	return derive(s, func(d *derived) *once[change.State] { return &d.state }, func() change.State { return s.state(s.replaced()) })
}

// state is like State, with the keys of the losses that may be repaired now.
func (s Seen) state(replaced []string) change.State {
	state := s.withoutRestore(replaced)
	if s.restores() {
		state.Restore, state.RestoreVersion = s.restore(), s.Source.Backup.Status.KubernetesVersion
	}
	return state
}

// withoutRestore returns the state without the requested restore.
func (s Seen) withoutRestore(replaced []string) change.State {
	state := change.State{
		Wanted: s.Request, Unfinished: s.unfinished(), NotReset: s.notReset(), Lost: map[string]bool{}, Domains: map[string]string{}, MACs: map[string][]string{},
		DrainSeconds: seconds(s.Limits.Drain), DrainsSeconds: seconds(s.Limits.drains()), RemoveFirst: s.RemoveFirst, Released: s.releasedStandbys(),
	}
	state.Wanted.AddPlugins(s.Request.Plugins)
	if s.Memory != nil {
		if s.Plugins.Problem != "" { // the cluster keeps what it has
			state.Wanted.PluginVars, state.Wanted.PluginGroups = s.Memory.Request.PluginVars, s.Memory.Request.PluginGroups
		}
		state.Installed = *s.Memory
		state.Rollout = s.rollout()
	}
	for _, n := range state.Installed.Nodes {
		h := s.Site[n.Host]
		state.MACs[n.Name] = h.MACs
		if h.Trouble != "" {
			state.Trouble = append(state.Trouble, n.Name)
		}
		if set := s.set(n.Set); set != nil && set.Spread != nil {
			state.Domains[n.Name] = h.Labels[set.Spread.TopologyKey]
		}
	}
	for _, l := range s.losses() {
		if !l.Node.Standby {
			state.Lost[l.Node.Name] = slices.Contains(replaced, l.Key())
			if s.alive(l.Node) {
				state.Alive = append(state.Alive, l.Node.Name)
			}
		}
	}
	return state
}

// seconds rounds up, because 0 seconds mean that a node is not drained.
// drains is the time in which a run begins drains. The other half of its time is for what it does with the
// drained nodes.
func (l Limits) drains() time.Duration { return l.Run / 2 }

func seconds(limit time.Duration) int { return int((limit + time.Second - 1) / time.Second) }

func (s Seen) set(name string) *contract.Set {
	i := slices.IndexFunc(s.Sets, func(set contract.Set) bool { return set.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Sets[i]
}

// replaced returns the keys of the losses that may be repaired now: those that the policy permits,
// those of a failed run that is repeated, and all of them if a user has requested a run. If a run of an
// upgrade has failed, the request is for this run.
func (s Seen) replaced() []string {
	if s.NoSpare != "" {
		return nil
	}
	var keys []string
	newest, requested := s.Newest(), s.asked() && !s.resumesUpgrade()
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
		if isDue || again && slices.Contains(newest.Replaces, l.Key()) || requested && !s.repaired(l) {
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
// the lost node. It has not if the lost node is the one that this run has installed: a host of the same name
// can be lost again.
func (s Seen) repaired(l Loss) bool {
	newest := s.Newest()
	if newest == nil || newest.State != Succeeded || !slices.Contains(newest.Replaces, l.Key()) {
		return false
	}
	installed := func(n contract.Node) bool {
		return n.Name == l.Node.Name && n.Host == l.Node.Host && n.HostUID == l.Node.HostUID
	}
	chosen := s.Memory != nil && contract.OperationOf(newest.Operation).Has(contract.TaskSelectHosts) && l.Node.HostUID != ""
	return !chosen || !slices.ContainsFunc(s.Nodes, installed)
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
	return slices.ContainsFunc(s.members(), func(n contract.Node) bool { return n.Host == host && !s.exchanged(n) })
}

// refused returns the parts of the spec that are not applied to the installed cluster. With
// blocking, it returns only those that keep every operation from starting.
func (s Seen) refused(blocking bool) []change.Refusal {
	if s.Memory == nil || !s.Complete() || s.Invalid != "" {
		return nil
	}
	all := derive(s, func(d *derived) *once[[]change.Refusal] { return &d.refused }, func() []change.Refusal { return change.Refused(s.State()) })
	return slices.DeleteFunc(slices.Clone(all), func(r change.Refusal) bool { return blocking && !r.Blocks })
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
	s.Hosts, s.SSH, s.Queue, s.BackingUp = &Need{}, &Need{}, nil, ""
	if len(s.losses()) > 0 { // otherwise no decision depends on these facts, and what is derived stays true
		s.Site = maps.Clone(s.Site)
		for name, h := range s.Site {
			h.Live, h.PowerManaged = true, false // a run that waits until a host is off is about to start, too
			s.Site[name] = h
		}
		s.Fix()
	}
	step := Next(s, now)
	return step, step.Do == StartRun
}

// Starting reports whether a run would start now if its preconditions were met.
func Starting(s Seen, now time.Time) bool {
	_, starts := Upcoming(s, now)
	return starts
}

// WithoutSpare returns the state in which the lost nodes are not replaced and missing standby hosts are not
// claimed, because missing says that no host fits. It returns false if nothing can be done in this state
// that needs no host, so that the cluster waits for a host.
func WithoutSpare(s Seen, missing string, now time.Time) (Seen, bool) {
	s.RemoveFirst, s.NoSpare = false, missing
	s.derived = nil
	step, starts := Upcoming(s, now)
	switch {
	case !starts:
		return s, step.Do == Prune || step.Do == Stay && step.Reason == ReasonInstalled
	case step.Operation == contract.OperationCollect:
		return s, s.collectsFirst(now)
	}
	return s, step.NeedsNoHosts()
}

// WithoutClaim is like WithoutSpare if the next run only claims standby hosts, of which these are still missing by
// the names of their sets, and would find none. It returns false if no other run starts: the run to claim hosts then
// answers the request of the user.
func WithoutClaim(s Seen, missing map[string]int, now time.Time) (Seen, bool) {
	still := 0
	for _, n := range missing {
		still += n
	}
	if _, changes := s.nextChange(); changes || !s.Complete() || s.have()+still < s.want() {
		return s, false
	}
	without, ok := WithoutSpare(s, "no host fits the missing standby hosts", now)
	return without, ok && Starting(without, now)
}

// NeedsNoHosts reports whether the run to start needs no other hosts than those of the cluster.
func (s Step) NeedsNoHosts() bool {
	return contract.OperationOf(s.Operation).NeedsNoHosts()
}

// removes reports whether the record or the active run says that the node is being removed. A node that
// was drained can only leave. A node that is only cordoned is schedulable again when its run ends.
func (s Seen) removes(n contract.Node) bool {
	if s.Memory != nil && slices.Contains(s.Memory.Leaving, n.Name) {
		return true
	}
	if r := s.Newest(); r == nil || r.State != Active || !contract.OperationOf(r.Operation).ChangesCluster() || s.Started.Upgrade != nil {
		return false
	}
	return s.Memory != nil && slices.Contains(s.Memory.Draining, n.Name) || s.Started.Remove != nil && slices.Contains(s.Started.Remove.Nodes, n.Name)
}

// pending returns the next change that an edit requests, in words. It is empty if there is none, or if
// the next run only repairs a loss.
func (s Seen) pending() string {
	step, ok := s.nextChange()
	if step.Request.Restore != nil {
		return step.String()
	}
	if r := step.Request.Remove; r != nil && len(r.Alive) > 0 {
		return ""
	}
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
