package claim

import (
	"context"
	"fmt"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Keep ends the part of the claim that is all or nothing. From then on, Undo gives back nothing,
// because Metal3 may be installing the hosts: a release would erase them again. The next run of the
// Provisioning continues with the same hosts, because an assignment prefers held hosts.
func (c *Claim) Keep() { clear(c.claimant.taken) }

// Replace gives up a host that does not receive its image, and claims another host for its node.
// All other hosts keep their claims, also if Replace fails. The host that is given up stays held
// and gets the label contract.LabelRelease, because the controller must record the failure and
// remove the image. The claim does not choose this host again. After a success, c describes the
// new claim.
//
// The errors are those of Make.
func (c *Claim) Replace(ctx context.Context, host string) error {
	c.Keep()
	claimant := c.claimant
	mark := func(h *metal3.BareMetalHost) { setAside(h, claimant.me.Name, contract.ReleaseImageFailed) }
	if _, _, err := change(ctx, claimant.client, claimant.me, host, nil, mark); err != nil {
		return fmt.Errorf("give up host %s: %w", host, err)
	}
	claimant.request.PassedOver = append(slices.Clone(claimant.request.PassedOver), host)
	next, err := claimant.make(ctx)
	if err != nil {
		return err
	}
	*c = *next
	return nil
}

// GiveUp releases hosts of the claim that have not received their image and will not, because the
// image is wrong. They can be chosen again: the next run may have another image for them.
func (c *Claim) GiveUp(ctx context.Context, names []string) error {
	claimant := c.claimant
	_, err := changeAll(ctx, claimant.client, claimant.me, unread(names), "give up", giveUp(claimant.me.Name))
	return err
}
