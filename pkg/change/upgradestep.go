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
	if a.narrow != nil {
		return s.configureStep(a), true
	}
	if len(a.planes) > 0 {
		return s.upgradeStep(contract.OperationUpgradeControlPlane, a, []contract.Node{s.nextPlane(a)}), true
	}
	return s.upgradeStep(contract.OperationUpgradeNodes, a, s.batch(a)), true
}

// nextPlane returns the control plane node that the next run upgrades. One that a failed run has left half
// changed comes first, so that a failure does not spread to other nodes. It must have the version of the
// hop already: the first node gets a version first, because it changes the settings of the cluster.
func (s State) nextPlane(a *ascent) contract.Node {
	i := slices.IndexFunc(a.planes, func(n contract.Node) bool { return halfUpgraded(n) && s.level(n).version == a.hop.version })
	return a.planes[max(i, 0)]
}

// batch returns the workers that one run upgrades. Those that a failed run has left half changed come
// first and alone, so that a failure does not spread to other nodes. If the request of a patch was taken
// back, no other node is in the batch of one that is half patched, because the run patches all of its
// nodes. Workers that are cordoned come before the others, because they do not work anyway.
func (s State) batch(a *ascent) []contract.Node {
	living := slices.DeleteFunc(slices.Clone(a.workers), s.lost)
	begun := slices.DeleteFunc(slices.Clone(living), func(n contract.Node) bool { return !halfUpgraded(n) })
	if len(begun) > 0 {
		living = begun
	}
	if s.Wanted.Patched == "" && slices.ContainsFunc(living, halfPatched) {
		living = slices.DeleteFunc(living, func(n contract.Node) bool { return !halfPatched(n) })
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
	if a.hop.settings != requested { // see patchFirst
		r.Vars, r.SecretVars = s.Installed.Request.Vars, s.Installed.Request.SecretVars
	}
	s.giveVars(r, a.hop.settings)
	r.Members = s.Installed.Stamped(*r)
	for i := range r.Sets {
		r.Sets[i].Standby = min(r.Sets[i].Standby, s.standby(r.Sets[i].Name))
	}
	r.Upgrade = &contract.Upgrade{Nodes: names(nodes), From: a.from, Path: a.path, DrainSeconds: s.Rollout.DrainSeconds, DrainsSeconds: s.Rollout.DrainsSeconds}
	if s.patches() {
		r.Upgrade.Patch = s.patch(nodes)
	}
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
	case a.narrow != nil:
		return s.narrowWaits(a)
	case len(a.planes) > 0:
		return ""
	case len(living) == 0:
		state := "at version " + a.from
		switch {
		case s.onlyPatches(a):
			state = "not patched"
		case a.onlyConfigures():
			state = "without the requested settings"
		}
		return fmt.Sprintf("%s: lost, and %s; the upgrade ends when each such node is back, is replaced, or is removed from the spec",
			strings.Join(names(a.workers), ", "), state)
	case s.pauses(a):
		return "all control plane nodes " + s.pauseText(a)
	}
	return ""
}

// onlyPatches reports whether the nodes that are left need no playbook.
func (s State) onlyPatches(a *ascent) bool {
	return !slices.ContainsFunc(slices.Concat(a.planes, a.workers), func(n contract.Node) bool {
		l := s.level(n)
		return l.begun != "" || l.version != a.hop.version || l.settings != a.hop.settings
	})
}

// onlyConfigures reports whether every node has the version of the hop already, or a newer one.
func (a *ascent) onlyConfigures() bool { return a.from == a.hop.version }

// pauseText describes, after "all control plane nodes", a pause before the workers.
func (s State) pauseText(a *ascent) string {
	const text = "%s, and spec.upgrade.pauseAfterControlPlane keeps the workers %s: set it to false to %s them"
	switch {
	case s.onlyPatches(a):
		return fmt.Sprintf(text, "are patched", "unpatched", "patch")
	case a.onlyConfigures() && s.patches():
		return fmt.Sprintf(text, "have the requested settings and are patched", "as they are", "configure and patch")
	case a.onlyConfigures():
		return fmt.Sprintf(text, "have the requested settings", "as they are", "configure")
	case s.patches():
		return fmt.Sprintf(text, "have "+a.hop.String()+" and are patched", "at their version", "upgrade and patch")
	}
	return fmt.Sprintf(text, "have "+a.hop.String(), "at their version", "upgrade")
}

// pauses reports whether the workers wait although they could be upgraded. A worker that is half changed
// does not wait.
func (s State) pauses(a *ascent) bool {
	living := slices.DeleteFunc(slices.Clone(a.workers), s.lost)
	return s.Rollout.PauseAfterControlPlane && a.narrow == nil && len(a.planes) == 0 && len(s.lostPlanes()) == 0 && len(living) > 0 && !slices.ContainsFunc(living, halfUpgraded)
}

func (s State) lostPlanes() (planes []string) {
	for _, n := range s.Installed.Nodes {
		if controlPlane(n.Roles) && s.lost(n) {
			planes = append(planes, n.Name)
		}
	}
	return planes
}
