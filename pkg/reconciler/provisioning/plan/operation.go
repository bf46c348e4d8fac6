package plan

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// operation returns the operation of a run that starts now, and the losses that the run repairs.
// After a failed replacement, the next run continues that replacement and also repairs the losses
// that the failed run recorded. These losses may not be visible in the list of nodes any more,
// because select-hosts may already have written the new nodes.
func (s Seen) operation() (string, []string) {
	newest := s.Newest()
	if s.onlyCollects() {
		return contract.OperationCollect, slices.Clone(newest.Replaces)
	}
	if !s.Complete() {
		return contract.OperationInstall, nil
	}
	var replaces []string
	again := newest != nil && newest.State == Failed && newest.Operation == contract.OperationAddNodes
	if again {
		replaces = slices.Clone(newest.Replaces)
	}
	for _, l := range s.lostWorkers() {
		if !slices.Contains(replaces, l.Key()) {
			replaces = append(replaces, l.Key())
		}
	}
	if again || len(replaces) > 0 || s.have() < s.want() {
		return contract.OperationAddNodes, replaces
	}
	return contract.OperationCollect, nil
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
