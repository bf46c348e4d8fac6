package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// narrow returns how the requested variables are applied without a drain; nil: the nodes must be upgraded.
// All nodes must have the version and the variables of the record, except for variables that an earlier
// run has begun to apply in the same way. Those are applied again, with their values in the spec: so this
// run can also take them back. A node may be half patched (see patchFirst).
func (s State) narrow() *contract.Narrow {
	was, is := s.Installed.Request, s.Wanted.Spec
	if was.KubernetesVersion != is.KubernetesVersion || !upgrade.SameRelease(was.Release, is.Release) {
		return nil
	}
	changed := changedVars(was, is)
	if len(s.changedOwnVars()) > 0 { // a drain of all nodes is enough for both
		return nil
	}
	for _, n := range s.Installed.Nodes {
		if version, settings := s.Installed.Level(n); version != was.KubernetesVersion || settings != was.SettingsOf(n) {
			return nil
		}
		if onlyHalfPatched(n) {
			continue
		}
		if halfUpgraded(n) || halfChanged(n) && n.Target.Version != was.KubernetesVersion {
			return nil
		}
		if halfChanged(n) {
			changed = append(changed, n.Target.Variables...)
		}
	}
	slices.Sort(changed)
	if len(changed) == 0 { // only operating systems are to be patched
		return nil
	}
	narrow, ok := upgrade.NarrowOf(is.Release, slices.Compact(changed), withOwnVars(was), withOwnVars(is))
	if !ok {
		return nil
	}
	return &narrow
}

// halfUpgraded reports whether a run has begun to upgrade the node, and has not completed this. Variables that
// were to be applied without a drain do not count: they are not on the node.
func halfUpgraded(n contract.Node) bool { return halfChanged(n) && len(n.Target.Variables) == 0 }

// configureStep returns an operation that applies variables without a drain.
func (s State) configureStep(a *ascent) Step {
	step := s.upgradeStep(contract.OperationConfigure, a, s.Installed.Nodes)
	u := step.Request.Upgrade
	u.DrainSeconds, u.DrainsSeconds, u.Patch, u.Narrow = 0, 0, "", a.narrow
	return step
}

// narrowWaits returns why variables that concern all nodes are not applied now; empty: they are. A
// DaemonSet does not replace its other pods if too many are unavailable, and those of lost nodes are.
func (s State) narrowWaits(a *ascent) string {
	lost := strings.Join(names(s.lostOf(s.Installed.Nodes)), ", ")
	if a.narrow == nil || lost == "" {
		return ""
	}
	if a.narrow.On == contract.OnAllNodes {
		return fmt.Sprintf("the variables %s concern all nodes: restore, replace or remove %s", listNames(a.narrow.Variables), lost)
	}
	if names := upgrade.ChangeDaemonSets(a.narrow.Variables, s.Wanted.AllVars()); len(names) > 0 {
		return fmt.Sprintf("the variables %s change a DaemonSet, which may not replace its pods while nodes are lost: restore, replace or remove %s", listNames(names), lost)
	}
	return ""
}

// describeNarrow describes a run that applies variables without a drain.
func describeNarrow(n *contract.Narrow) string {
	text := fmt.Sprintf("apply variables %s to the cluster, without a drain", listNames(n.Variables))
	if len(n.Kept) > 0 {
		text += fmt.Sprintf(" (kubespray does not remove what %s has installed: delete it with kubectl)", listNames(n.Kept))
	}
	return text
}
