package plan

import (
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// operation returns the operation of a run that starts now, with its request. It is the next change of
// an installed cluster, if there is one. Otherwise a user has requested the run, which collects a new
// kubeconfig, or also claims missing standby hosts.
func (s Seen) operation() change.Step {
	if s.onlyCollects() {
		return change.Step{Operation: contract.OperationCollect, Request: s.Request}
	}
	if !s.Complete() {
		return change.Step{Operation: contract.OperationInstall, Request: s.Request}
	}
	if step, ok := s.nextChange(); ok {
		return step
	}
	if s.Memory != nil && s.have() < s.want() {
		return change.Claim(s.State())
	}
	return change.Step{Operation: contract.OperationCollect, Request: s.Request}
}

// onlyCollects reports whether the newest run did everything but collect the kubeconfig, so that the
// next run need not do more. It returns false if a user has requested another attempt: such an
// attempt does everything again.
func (s Seen) onlyCollects() bool {
	newest := s.Newest()
	if newest == nil || newest.State != Failed || !s.wanted(*newest) || newest.Digest != s.Digest || len(s.losses()) > 0 {
		return false
	}
	if newest.Operation == contract.OperationCollect {
		return true
	}
	played := newest.task(contract.TaskKubespray)
	return !newest.resets() && played != nil && played.State == Succeeded && Classify(*newest).Task == contract.TaskCollectKubeconfig
}

// played returns the digest of the inventory with which the playbook of the newest run succeeded. It
// is empty if that playbook did not run or failed, and if a user has requested another attempt.
func (s Seen) played(operation string) string {
	newest := s.Newest()
	if newest == nil || newest.State != Failed || !s.wanted(*newest) || !contract.OperationOf(operation).Has(contract.TaskRenderInventory) ||
		Classify(*newest).Reason != contract.ReasonClusterUnhealthy {
		return ""
	}
	if t := newest.task(contract.TaskRenderInventory); t != nil {
		return t.Results[contract.ResultInventoryDigest]
	}
	return ""
}
