package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// upgrades returns the operations of an upgrade, in their order. Lost nodes are replaced first, because
// the upgrade takes nodes away for a while. Nodes that are not requested leave before it, so that their
// pods do not move twice. They stay until the end if other nodes are to come: the cluster would have
// fewer nodes than now during the whole upgrade. New nodes come after it, at their final version.
func (s State) upgrades(d difference) []operation {
	step, ok := s.upgradeNext()
	if !ok {
		return nil
	}
	lost := difference{replace: d.replace}
	all := []operation{
		func(difference) (Step, bool) { return s.addControlPlane(lost) },
		func(difference) (Step, bool) { return s.addNodes(lost) },
	}
	moves := slices.ContainsFunc(d.remove, func(n contract.Node) bool { return s.installed(n) && s.requested(n) })
	if len(d.addSlots)+len(d.addSets) == 0 && !moves {
		all = append(all, s.removeNodes, s.removeControlPlane)
	}
	return append(all, func(difference) (Step, bool) { return step, true })
}

// upgradeNext returns the next run of the upgrade: one control plane node, or a batch of workers after
// all control planes.
func (s State) upgradeNext() (Step, bool) {
	a := s.ascent()
	if a == nil || s.waitsFor(a) != "" {
		return Step{}, false
	}
	if len(a.planes) > 0 {
		return s.upgradeStep(contract.OperationUpgradeControlPlane, a, a.planes[:1]), true
	}
	return s.upgradeStep(contract.OperationUpgradeNodes, a, s.batch(a)), true
}

// batch returns the workers that one run upgrades. Those that a failed run has left half changed come
// first and alone, so that a failure does not spread to other nodes. Workers that are cordoned come before the others, because
// they do not work anyway.
func (s State) batch(a *ascent) []contract.Node {
	living := slices.DeleteFunc(slices.Clone(a.workers), s.lost)
	begun := slices.DeleteFunc(slices.Clone(living), func(n contract.Node) bool { return !halfChanged(n) })
	if len(begun) > 0 {
		living = begun
	}
	slices.SortStableFunc(living, func(a, b contract.Node) int {
		return oneIf(slices.Contains(s.Installed.Draining, b.Name)) - oneIf(slices.Contains(s.Installed.Draining, a.Name))
	})
	return living[:min(len(living), max(s.Rollout.MaxUnavailable, 1))]
}

// upgradeStep returns an operation that upgrades these nodes. It neither adds nor removes any.
func (s State) upgradeStep(operation string, a *ascent, nodes []contract.Node) Step {
	step := s.step(operation, nil, nil, func(contract.Node) bool { return true })
	r := &step.Request
	r.KubernetesVersion, r.Vars, r.Release = a.hop.version, s.Wanted.Vars, s.Wanted.Release
	r.Members = s.Installed.Stamped(*r)
	for i := range r.Sets {
		r.Sets[i].Standby = min(r.Sets[i].Standby, s.standby(r.Sets[i].Name))
	}
	r.Upgrade = &contract.Upgrade{Nodes: names(nodes), From: a.from, Path: a.path, DrainSeconds: s.Rollout.DrainSeconds}
	r.Lost, r.Kept = s.losses(nil)
	step.Upgrade = names(nodes)
	return step
}

// waitsFor returns why the upgrade does not go on now; empty: it does.
func (s State) waitsFor(a *ascent) string {
	planes := s.lostPlanes()
	living := slices.DeleteFunc(slices.Clone(a.workers), s.lost)
	switch {
	case len(planes) > 0:
		return fmt.Sprintf("no node is upgraded while a control plane node is lost: restore or replace %s", strings.Join(planes, ", "))
	case len(a.planes) > 0:
		return ""
	case len(living) == 0:
		return fmt.Sprintf("%s: lost, and at version %s; the upgrade ends when each such node is back, is replaced, or is removed from the spec",
			strings.Join(names(a.workers), ", "), a.from)
	case s.pauses(a):
		return fmt.Sprintf("all control plane nodes have %s, and spec.upgrade.pauseAfterControlPlane keeps the workers at their version: set it to false to upgrade them", a.hop)
	}
	return ""
}

// pauses reports whether the workers wait although they could be upgraded. A worker that is half changed
// does not wait.
func (s State) pauses(a *ascent) bool {
	living := slices.DeleteFunc(slices.Clone(a.workers), s.lost)
	return s.Rollout.PauseAfterControlPlane && len(a.planes) == 0 && len(s.lostPlanes()) == 0 && len(living) > 0 && !slices.ContainsFunc(living, halfChanged)
}

func (s State) lostPlanes() (planes []string) {
	for _, n := range s.Installed.Nodes {
		if controlPlane(n.Roles) && s.lost(n) {
			planes = append(planes, n.Name)
		}
	}
	return planes
}
