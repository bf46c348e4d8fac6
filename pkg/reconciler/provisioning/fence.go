package provisioning

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

func userOf(p *v1alpha1.Provisioning) contract.User {
	return contract.User{Namespace: p.Namespace, Name: p.Name, UID: p.ClusterUID()}
}

// fence asks Metal3 to power off lost hosts. The annotation that it writes on each host has the time
// of the request, so that the time limit of Metal3 outlives a restart of the controller.
func (r *Reconciler) fence(ctx context.Context, p *v1alpha1.Provisioning, next plan.Step) error {
	asked, err := r.hosts.Fence(ctx, ownerOf(p), userOf(p), next.Hosts, r.clock.Now())
	if len(asked) > 0 {
		recordEvents(ctx, p, []plan.Event{{
			Type: corev1.EventTypeNormal, Reason: plan.ReasonFencing,
			Message: cutList("lost hosts are powered off before they are replaced: ", asked),
		}})
	}
	if err != nil {
		return fmt.Errorf("power off lost hosts: %w", err)
	}
	return nil
}

// unfence powers on the hosts that fence has powered off, after a user has ended their quarantine.
// While there is no such host, it makes no call.
func (r *Reconciler) unfence(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen) error {
	names := seen.ToUnfence()
	if len(names) == 0 {
		return nil
	}
	if _, err := r.hosts.Unfence(ctx, ownerOf(p), names); err != nil {
		return fmt.Errorf("power on hosts that are not lost any more: %w", err)
	}
	return nil
}
