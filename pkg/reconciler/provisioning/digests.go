package provisioning

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// translateDigests gives runs, and the cluster that is there, the digest of today where an earlier version of BPA stored its own, so that an
// upgrade of BPA does not look like a change of the spec. The requests that can be meant are the one of the spec and that of the last run, whose
// ConfigMap says what was installed even if the spec has changed since.
func (r *Reconciler) translateDigests(p *v1alpha1.Provisioning, seen *plan.Seen) error {
	old := from.IsV1(seen.InstalledDigest) || slices.ContainsFunc(seen.Runs, func(run plan.Run) bool { return from.IsV1(run.Digest) })
	if !old {
		return nil
	}
	today := map[string]string{}
	for _, request := range []contract.Request{seen.Started, seen.Request} {
		v1, err := from.DigestV1(request)
		if err != nil {
			return err
		}
		if today[v1], err = from.Digest(request); err != nil {
			return err
		}
	}
	if digest, ok := today[seen.InstalledDigest]; ok {
		seen.InstalledDigest = digest
	}
	for i := range seen.Runs {
		run := &seen.Runs[i]
		switch digest, ok := today[run.Digest]; {
		case ok:
			run.Digest = digest
		case from.IsV1(run.Digest) && run.State == plan.Succeeded && seen.InstalledDigest != "" && !from.IsV1(seen.InstalledDigest):
			run.Digest = seen.InstalledDigest // translated by an earlier visit, which could tell what the run was for
		}
	}
	return nil
}
