package plan

import (
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// operation returns the operation of a run that starts now, with its request. A kubeconfig that a user requests is
// first, because it needs no host. Then comes the next change of an installed cluster, if there is one. The plugins are
// last, because they need the nodes. Otherwise a user has requested the run, which pins missing host keys, claims missing
// standby hosts, or repairs the plugins.
func (s Seen) operation(now time.Time) change.Step {
	if s.onlyCollects() {
		return s.collect()
	}
	if !s.Complete() {
		return change.Step{Operation: contract.OperationInstall, Request: s.Request}
	}
	if s.collectsFirst(now) {
		if len(s.Unpinned) > 0 { // the check collects a kubeconfig too, and can reach a node without a pinned key
			return change.Check(s.State())
		}
		return s.collect()
	}
	if step, ok := s.nextChange(); ok {
		return step
	}
	if s.owesCheck() || s.asked() && len(s.Unpinned) > 0 {
		return change.Check(s.State())
	}
	switch due := s.PluginChange() != "" && !s.asked(); {
	case s.Memory != nil && s.have() < s.want() && !due && s.NoSpare == "":
		return change.Claim(s.State())
	case due, s.usable(now) && s.installsPlugins(contract.OperationPlugins):
		if s.Memory != nil {
			return change.Plugins(s.State())
		}
		return change.Step{Operation: contract.OperationPlugins, Request: s.Request}
	}
	return s.collect()
}

// collect returns the operation that collects the kubeconfig, from the nodes of the record if there is one.
func (s Seen) collect() change.Step {
	if s.Memory == nil || !s.Complete() {
		return change.Step{Operation: contract.OperationCollect, Request: s.Request}
	}
	return change.Collect(s.State())
}

// collectsFirst reports whether a user requests a run of an installed cluster that has no usable kubeconfig. A
// failed run that is repeated collects one itself, and so does a restore. A request that confirms a change is for
// the run that makes this change.
func (s Seen) collectsFirst(now time.Time) bool {
	return s.asked() && s.Installed() && !s.usable(now) && s.RestoreAsked() == "" && !s.confirms()
}

// confirms reports whether a removal waits for the request of a user.
func (s Seen) confirms() bool {
	s.Retry = ""
	s.Fix()
	return len(s.unconfirmed()) > 0
}

// owesCheck reports, if no other change is left, whether the check of the cluster after the newest run has
// failed and is to be repeated: automatically, or because a user requests another run.
func (s Seen) owesCheck() bool {
	newest := s.Newest()
	return newest != nil && newest.State == Failed && s.unchecked(*newest) && (s.wanted(*newest) || s.asked() && newest.Inputs == s.Inputs)
}

// resumesUpgrade reports whether the newest run was to upgrade nodes and failed, and the upgrade can go on
// without a replacement of lost nodes. A user who requests another run then means this one.
func (s Seen) resumesUpgrade() bool {
	newest := s.Newest()
	if newest == nil || newest.State != Failed || s.Started.Upgrade == nil || s.Memory == nil || !s.Complete() || len(s.lostControlPlanes()) > 0 {
		return false
	}
	if step, changes := change.Next(s.state(nil)); changes {
		return step.Request.Upgrade != nil
	}
	return s.owesCheck()
}

// unchecked reports whether the failed run has added, removed or upgraded its nodes, but has not found the
// cluster healthy after that. Then no other change is left.
func (s Seen) unchecked(failed Run) bool {
	operation, t := contract.OperationOf(failed.Operation), failed.task(contract.TaskKubespray)
	return s.Memory != nil && operation.ChangesCluster() && t != nil && t.State == Failed
}

// otherChange reports whether the new run does something else than the newest run, which failed, so
// that it is a first attempt. A run that only collects the kubeconfig or installs plugins continues the newest run. Each batch
// of an upgrade is another change. A run for the rest of a batch is another attempt at it.
func (s Seen) otherChange(failed Run, next change.Step) bool {
	if !contract.OperationOf(failed.Operation).ChangesCluster() || next.Operation == contract.OperationCollect || next.Operation == contract.OperationPlugins && failed.built() {
		return false
	}
	if next.Operation != failed.Operation {
		return true
	}
	was, is := s.Started.Upgrade, next.Request.Upgrade
	if was == nil || is == nil {
		return false
	}
	other := func(n contract.Node) bool {
		return slices.Contains(is.Nodes, n.Name) && (!slices.Contains(was.Nodes, n.Name) || s.Started.SettingsOf(n) != next.Request.SettingsOf(n))
	}
	return s.Started.KubernetesVersion != next.Request.KubernetesVersion || s.Started.Settings() != next.Request.Settings() || was.Patch != is.Patch ||
		slices.ContainsFunc(next.Request.Members, other)
}

// repairsOther reports whether the next change replaces a lost node that the newest run, which failed,
// was not to replace. Such a run does not wait for a user to repair the failed one.
func (s Seen) repairsOther(failed Run) bool {
	step, _ := s.nextChange()
	replaces := s.keysOf(step.Replace)
	return slices.ContainsFunc(s.due(), func(l Loss) bool {
		return slices.Contains(replaces, l.Key()) && !slices.Contains(failed.Replaces, l.Key())
	})
}

// onlyCollects reports whether the newest run did everything but collect the kubeconfig, so that the
// next run need not do more. It returns false if a user has requested another attempt: such an
// attempt does everything again.
func (s Seen) onlyCollects() bool {
	newest := s.Newest()
	if newest == nil || newest.State != Failed || !s.wanted(*newest) || newest.Digest != s.Digest || len(s.losses()) > 0 || s.RestoreAsked() != "" {
		return false
	}
	if newest.Operation == contract.OperationCollect {
		return true
	}
	played := newest.task(contract.TaskKubespray)
	return !newest.resets() && played != nil && played.State == Succeeded && Classify(*newest).Task == contract.TaskCollectKubeconfig
}

// played returns the digest of the inventory with which the playbook of the newest run succeeded. It
// is empty if that playbook did not run or failed, and if a user has requested another attempt. It is also
// empty for an upgrade, whose record says which nodes are upgraded, and for a restore, which always begins
// with empty control planes.
func (s Seen) played(operation string) string {
	newest := s.Newest()
	if newest == nil || operation == contract.OperationRestore || contract.OperationOf(operation).Upgrades() || newest.State != Failed || !s.wanted(*newest) || !contract.OperationOf(operation).Has(contract.TaskRenderInventory) ||
		Classify(*newest).Reason != contract.ReasonClusterUnhealthy {
		return ""
	}
	if t := newest.task(contract.TaskRenderInventory); t != nil {
		return t.Results[contract.ResultInventoryDigest]
	}
	return ""
}
