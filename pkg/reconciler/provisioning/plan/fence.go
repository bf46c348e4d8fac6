package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
)

// fenceLimit is the time that Metal3 has to power a lost host off. After it, the host is replaced all
// the same.
const fenceLimit = 5 * time.Minute

// lookAgain is the time until the next check while the looks have not decided about a node. The monitor wakes the
// Provisioning earlier.
const lookAgain = 30 * time.Second

// fencing is how far the fencing of a host is.
type fencing int

const (
	notFenced  fencing = iota // the host is not lost, not ours, or Metal3 cannot power it off
	toFence                   // Metal3 is to be asked
	beingOff                  // Metal3 was asked and has not finished
	fenced                    // the host is off
	fenceFails                // Metal3 reports an error, or the limit is over
)

// fencing returns how far the fencing of a host is. Only a host that this Provisioning holds is ever
// powered off: a host that another consumer holds, or nobody, may do other work by now.
func (h Host) fencing(now time.Time) fencing {
	switch {
	case !h.Ours || !h.Claimed || !h.Lost || !h.PowerManaged:
		return notFenced
	case h.SwitchedOff:
		return fenced
	case h.FencedAt.IsZero() || h.FencedAt.After(now): // a time in the future was written by another clock
		return toFence
	case h.FenceFailed != "" || !now.Before(h.FencedAt.Add(fenceLimit)):
		return fenceFails
	}
	return beingOff
}

// fence powers off the lost hosts that the next run replaces, and waits until they are off.
// Otherwise, a machine that is lost only for the controller could run its pods, or a member of etcd,
// beside the node that replaces it. If Metal3 cannot power a host off, the run starts all the same:
// it removes the node from the cluster. Before a restore that nothing has proved yet, no host is powered
// off: see mayFence.
func fence(s Seen, now time.Time) (Step, bool) {
	if s.Hosts == nil || s.SSH == nil || !s.Complete() { // not checked: no run can start, so no host is replaced
		return Step{}, false
	}
	next := s.operation(now)
	ask, wait, until := s.toFence(gone(next), now)
	unseen := s.unseen(ask)
	switch {
	case next.Request.Restore != nil && !s.mayFence():
		return Step{}, false
	case len(unseen) > 0 && next.Request.Restore == nil:
		return Step{Do: Stay, Reason: ReasonFencing, After: lookAgain, Message: fmt.Sprintf(
			"waiting for the looks at the nodes of %s: a node that is Ready is drained, and its host is not powered off", some(unseen, ", "))}, true
	case len(ask) > 0:
		return Step{Do: Fence, Hosts: ask, Reason: ReasonFencing, After: fenceLimit, Message: fmt.Sprintf(
			"asking Metal3 to power off %s, so that the lost node cannot run beside its replacement", some(ask, ", "))}, true
	case len(wait) > 0:
		return Step{Do: Stay, Reason: ReasonFencing, After: until.Sub(now), Message: fmt.Sprintf(
			"waiting until Metal3 has powered off %s, at most until %s", some(wait, ", "), until.UTC().Format(time.RFC3339))}, true
	}
	return Step{}, false
}

// alive reports whether the node works although its host is in quarantine. It then leaves the cluster in a run of
// its own, which drains it and resets its machine, so that nothing is left to power off. A host that is being
// powered off, or that BPA does not hold, gets no such run.
//
// Nor does a node whose place a run has begun to give to another machine: the cluster knows that machine by the same
// name, so the node that is Ready can be the new one.
func (s Seen) alive(n contract.Node) bool {
	h := s.Site[n.Host]
	replaced := slices.ContainsFunc(s.Nodes, func(o contract.Node) bool {
		return o.Name == n.Name && o.HostUID != n.HostUID && s.used(s.Site[o.Host])
	})
	return !replaced && h.Ours && h.Claimed && h.Quarantined && h.FencedAt.IsZero() && s.Limits.Drain > 0 && s.Health != nil && s.Health.Unchecked == "" &&
		s.Health.API == health.APIAnswers && s.Health.Nodes[n.Name].State == health.NodeReady
}

// aliveText completes the description of a lost host whose node works.
func (s Seen) aliveText(n contract.Node) string {
	if s.Memory == nil || !s.alive(n) || !change.CanEvacuate(s.State(), n) {
		return ""
	}
	return "; its node is Ready: it is drained and removed before another host takes its place"
}

// unseen returns those of the hosts in quarantine of whose nodes the looks do not say yet whether they are Ready.
func (s Seen) unseen(hosts []string) (names []string) {
	for _, n := range s.members() {
		waits := s.Looking || s.Health != nil && s.Health.Unchecked == "" && s.Health.API == health.APIAnswers && undecided(s.Health.Nodes[n.Name])
		if waits && slices.Contains(hosts, n.Host) && s.Site[n.Host].Quarantined {
			names = append(names, n.Host)
		}
	}
	return names
}

// toFence returns the hosts of these lost nodes that Metal3 has to power off, those that it is powering
// off, and the end of its time for the latter.
func (s Seen) toFence(nodes []string, now time.Time) (ask, wait []string, until time.Time) {
	replaced := s.keysOf(nodes)
	for _, l := range s.losses() {
		h := s.Site[l.Node.Host]
		if !slices.Contains(replaced, l.Key()) || !h.Live {
			continue
		}
		switch h.fencing(now) {
		case toFence:
			ask = append(ask, l.Node.Host)
		case beingOff:
			wait = append(wait, l.Node.Host)
			if end := h.FencedAt.Add(fenceLimit); end.After(until) {
				until = end
			}
		}
	}
	return ask, wait, until
}

// mayFence reports whether hosts may be powered off for the restore that is due. The hosts alone do not
// show that etcd has lost its majority: a host in quarantine can run, and a power-off would then break
// a working etcd. So the user gives etcd up, or a run has proved that no majority answers and that
// the copy is good, or the restore has begun.
func (s Seen) mayFence() bool {
	asked := s.RestoreAsked()
	_, force := RestoreFrom(asked)
	return force || s.Proved == asked || s.Memory != nil && s.Memory.Restoring != ""
}

// fenced reports whether nothing is left to do for Metal3 before the restore: see contract.Restore.Fenced. A
// host that only a cache has shown counts too, although fence does not power it off.
func (s Seen) fenced(next change.Step, now time.Time) bool {
	replaced := s.keysOf(gone(next))
	return !slices.ContainsFunc(s.losses(), func(l Loss) bool {
		how := s.Site[l.Node.Host].fencing(now)
		return slices.Contains(replaced, l.Key()) && (how == toFence || how == beingOff)
	})
}

// powerText completes the description of a lost host: whether it was powered off. It is empty if
// nobody asked for that.
func (h Host) powerText(now time.Time) string {
	if h.FencedAt.IsZero() {
		return ""
	}
	switch h.fencing(now) {
	case fenced:
		return "; it was powered off"
	case fenceFails:
		if h.FenceFailed != "" {
			return "; Metal3 could not power it off: " + strings.TrimRight(h.FenceFailed, ". ")
		}
		return fmt.Sprintf("; Metal3 did not power it off within %s", fenceLimit)
	}
	return ""
}

// ToUnfence returns the names, sorted, of the claimed hosts that were powered off because they were
// lost, and that are not lost any more. The controller powers them on again: either such a host still
// has its node, or a run must reset it.
func (s Seen) ToUnfence() []string {
	if s.Deleting && s.Retain {
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Site)) {
		if h := s.Site[name]; h.Ours && h.Claimed && !h.Lost && !h.FencedAt.IsZero() {
			names = append(names, name)
		}
	}
	return names
}
