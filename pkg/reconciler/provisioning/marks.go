package provisioning

import (
	"context"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// markHosts marks the claimed hosts that contain a part of the cluster, and removes the mark from
// hosts that were reset. It does so at every reconcile, so that a host keeps its mark even if the
// Provisioning is deleted by force. While nothing has to be written, it makes no call.
func (r *Reconciler) markHosts(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen) error {
	if used := seen.ToMark(); len(used) > 0 {
		if _, err := r.hosts.Mark(ctx, ownerOf(p), userOf(p), used); err != nil {
			return fmt.Errorf("mark the hosts that contain the cluster: %w", err)
		}
	}
	if clean := seen.ToUnmark(); len(clean) > 0 {
		if _, err := r.hosts.Unmark(ctx, ownerOf(p), clean); err != nil {
			return fmt.Errorf("remove the mark of hosts that were reset: %w", err)
		}
	}
	return nil
}
