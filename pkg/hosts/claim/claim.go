package claim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
)

// ErrContested means that other clients claimed chosen hosts first, in every attempt.
var ErrContested = errors.New("other clients claimed the chosen hosts first in every attempt")

const (
	attempts  = 6
	firstWait = 200 * time.Millisecond
	maxPause  = 2 * time.Second
	// undoLimit limits the time for giving back hosts after a failure. The context of the claim
	// cannot limit it, because the claim itself may have been cancelled.
	undoLimit = 15 * time.Second
)

// Claim is a set of hosts that are held for a request.
type Claim struct {
	Nodes []contract.Node // nodes of the slots in the order of the request, then nodes of the sets
	Hosts []hosts.Host    // all hosts of the namespace at the time of the claim, used for a log
	// Kept lists hosts that are held and are no longer nodes: lost hosts, and hosts on which the
	// cluster may be installed. They stay held until a user releases or deletes them, or ends the
	// quarantine of a lost host.
	Kept []string

	claimant *claimant
	assigned assign.Assignment
}

// Make claims a host for every node of the request, and releases the other hosts that its
// Provisioning holds, except those in Kept. It writes only consumerRef and the labels of the claim.
// If a host to release has an image of BPA, it stays held and gets the label contract.LabelRelease,
// because only the controller may remove the image. A second call with the same request changes
// nothing.
//
// If Make fails, it gives back the hosts that it took. The error is a *assign.NoFit, a
// *assign.AddressError, a *hosts.OverLimit, a *MissingSecrets, ErrContested or an error of the API server.
//
// c must read from the API server, not from a cache.
func Make(ctx context.Context, c client.Client, request contract.Request) (*Claim, error) {
	made := &claimant{client: c, request: request, me: hosts.OwnerOf(request), taken: map[string]*metal3.BareMetalHost{}}
	return made.make(ctx)
}

func (c *claimant) make(ctx context.Context) (*Claim, error) {
	var lost error
	for n := range attempts {
		if n > 0 {
			if err := pause(ctx, min(firstWait<<(n-1), maxPause)); err != nil {
				return nil, c.undo(ctx, err)
			}
		}
		claim, err := c.attempt(ctx, n)
		if err == nil {
			return claim, nil
		}
		err = c.undo(ctx, err)
		var nofit *assign.NoFit
		var limit *hosts.OverLimit
		switch {
		case errors.Is(err, errLost):
			lost = fmt.Errorf("%w: %w", ErrContested, err)
		case (errors.As(err, &nofit) || errors.As(err, &limit)) && lost != nil && n < attempts-1:
			// Try again: other claimants may be about to give back hosts.
		default:
			return nil, err
		}
	}
	return nil, lost
}

// Undo gives back the hosts that this claim took, but not those that were held before or that Keep
// has kept.
func (c *Claim) Undo(ctx context.Context) error {
	return c.claimant.undo(ctx, nil)
}

// MissingStandby returns the number of standby hosts that were not found, by the name of the set.
func (c *Claim) MissingStandby() map[string]int {
	return c.assigned.MissingStandby(c.claimant.request)
}

// pause waits for a random time between d/2 and 3d/2. This keeps competing claimants from starting
// again at the same time.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
