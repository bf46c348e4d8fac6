package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// started reads the spec from which the newest run was started, and compares it with the
// current spec. If another build of BPA started the run, that build may have computed another
// digest for the same spec. Therefore it replaces the run's digest in seen by the
// digest that this build computes for the run. The stored digest does not change.
func (o *observer) started() error {
	seen := &o.seen
	cm, err := o.read.RequestOf(seen.Newest())
	if err != nil || cm == nil {
		return err
	}
	seen.Started = Request(o.read, cm)
	was := startedFrom(o.ctx, o.p, cm)
	if was == nil || seen.Unedited() {
		return nil
	}
	request, err := from.Provisioning(was, o.given.Settings.Depot)
	if err != nil {
		return nil // another build of BPA wrote the spec in the ConfigMap
	}
	request.SecretVars = seen.Started.SecretVars
	digest, err := from.Digest(request)
	if err != nil {
		return err
	}
	seen.Recompute(digest)
	seen.Changes = resources.Changes(was, o.p)
	seen.VarsChanged = change.SecretVars(request.Spec, seen.Request.Spec)
	seen.Revertible = len(seen.Changes) > 0 || len(seen.VarsChanged) == 0 // a Secret cannot be restored
	for _, name := range seen.VarsChanged {
		seen.Changes = append(seen.Changes, "variable "+name+" in a Secret")
	}
	before, err := inputsOfRun(was, request)
	if err != nil || seen.Invalid != "" {
		return err
	}
	after, err := inputsOfRun(o.p, seen.Request)
	seen.Edited = before != after
	return err
}

// inputsOfRun returns the digest of the inputs of a run, without time-outs and standby hosts. If an
// edit changes this digest, an active run is obsolete.
func inputsOfRun(p *v1alpha1.Provisioning, request contract.Request) (string, error) {
	p = p.DeepCopy()
	p.Spec.Timeouts = v1alpha1.TimeoutsSpec{}
	request.Sets = slices.Clone(request.Sets)
	for i := range request.Sets {
		request.Sets[i].Standby = 0
	}
	return from.Inputs(p, request)
}

// startedFrom returns the Provisioning as it was when the newest run was started. It returns nil if
// that is not known.
func startedFrom(ctx context.Context, p *v1alpha1.Provisioning, cm *corev1.ConfigMap) *v1alpha1.Provisioning {
	started := resources.ReadStarted(cm)
	if started == nil {
		return nil
	}
	was := p.DeepCopy()
	was.Spec = *started
	was.SetDefaults(ctx)
	return was
}
