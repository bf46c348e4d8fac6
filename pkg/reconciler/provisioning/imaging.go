package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// imageHosts writes fields of hosts that the task select-hosts may not write. It sets the OS image
// after the task has claimed all hosts, removes the image from hosts that the task has given up,
// and switches hosts on. While nothing has to be written, it reads only caches.
func (r *Reconciler) imageHosts(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen) error {
	if seen.Deleting { // deletion releases every host, and a release also removes the image
		return nil
	}
	held, err := r.hosts.Held(ctx, ownerOf(p))
	if err != nil {
		return err
	}
	// Hosts of an earlier Provisioning of this name get no image and no power: its cluster may still
	// run on them.
	claimed := slices.DeleteFunc(slices.Clone(held), func(h hosts.Host) bool { return h.Holder.UID != p.ClusterUID() })
	return errors.Join(r.releaseGivenUp(ctx, p, seen, held), r.imageClaimed(ctx, p, seen, claimed), r.powerOn(ctx, p, seen, claimed))
}

// releaseGivenUp releases the hosts that have no use any more. It runs again when Metal3 has removed
// the image of such a host.
func (r *Reconciler) releaseGivenUp(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, held []hosts.Host) error {
	var names []string
	for _, h := range imaging.GivenUp(held) {
		if seen.Releasable(h.Name) {
			names = append(names, h.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	released, err := r.hosts.ReleaseGivenUp(ctx, ownerOf(p), names)
	recordReleased(ctx, p, released)
	if err = errors.Join(err, r.emptyCopies(ctx, p, released)); err != nil {
		return fmt.Errorf("release the hosts that select-hosts gave up: %w", err)
	}
	return nil
}

// powerOn switches on hosts that are off, because a run cannot install anything on them. In an
// installed cluster, it does not switch on the hosts of existing nodes.
func (r *Reconciler) powerOn(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, claimed []hosts.Host) error {
	names := slices.DeleteFunc(imaging.Offline(claimed), func(name string) bool {
		return seen.Complete() && slices.Contains(seen.Started.Installed, name)
	})
	if len(names) == 0 || !seen.PowersOn() {
		return nil
	}
	_, err := r.hosts.PowerOn(ctx, ownerOf(p), names)
	return err
}

func (r *Reconciler) imageClaimed(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, claimed []hosts.Host) error {
	image, err := seen.ImageForHosts()
	if image == nil || err != nil {
		return err
	}
	due := imaging.Due(slotNames(seen.Started), seen.Started.Sets, claimed)
	if len(due) == 0 {
		return nil
	}
	beside, err := r.copySecrets(ctx, p, *image, due, claimed)
	if err != nil {
		return err
	}
	_, err = r.hosts.Image(ctx, ownerOf(p), beside, due)
	return err
}
