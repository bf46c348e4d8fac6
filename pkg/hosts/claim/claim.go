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

// ErrContested means that somebody else was faster every time.
var ErrContested = errors.New("the hosts are contested: others were faster every time")

const (
	attempts  = 6
	firstWait = 200 * time.Millisecond
	longest   = 2 * time.Second
	// undoLimit bounds the giving back after a failure, which goes on when the claim itself was cancelled.
	undoLimit = 15 * time.Second
)

// Claim is a set of hosts that are held.
type Claim struct {
	Nodes []contract.Node // those of the slots in the order of the request, then those of the sets
	Hosts []hosts.Host    // every host of the namespace as it was when the claim was made, for a log
	// Kept are hosts that are ours and no node any more: lost ones, and those on which the cluster may be installed. They stay ours until a person
	// frees or deletes them, or ends a lost one's quarantine.
	Kept []string

	claimant *claimant
	assigned assign.Assignment
}

// Make claims a host for every node of the request, and releases what its Provisioning holds beyond that (but see Kept). It writes consumerRef and
// the labels of the claim, and nothing else. A host to release that was given an image stays held, marked with contract.LabelRelease: only the
// controller may remove the image. Made twice Make changes nothing. When it fails, what it took is given back: the error is a *hosts.NoFit, a *hosts.AddressError, a *MissingSecrets, ErrContested or the API server's. The client must read from the API
// server.
func Make(ctx context.Context, c client.Client, request contract.Request) (*Claim, error) {
	claimant := &claimant{client: c, request: request, me: hosts.OwnerOf(request), taken: map[string]*metal3.BareMetalHost{}}
	var lost error
	for n := range attempts {
		if n > 0 {
			if err := pause(ctx, min(firstWait<<(n-1), longest)); err != nil {
				return nil, claimant.undo(ctx, err)
			}
		}
		claim, err := claimant.attempt(ctx, n)
		if err == nil {
			return claim, nil
		}
		err = claimant.undo(ctx, err)
		var nofit *assign.NoFit
		switch {
		case errors.Is(err, errLost):
			lost = fmt.Errorf("%w: %w", ErrContested, err)
		case errors.As(err, &nofit) && lost != nil && n < attempts-1:
			// Whoever was faster may be about to give back.
		default:
			return nil, err
		}
	}
	return nil, lost
}

// Undo gives back the hosts that were not ours before the claim was made.
func (c *Claim) Undo(ctx context.Context) error {
	return c.claimant.undo(ctx, nil)
}

// MissingStandby tells, by the name of the set, how many standby hosts no host could be found for.
func (c *Claim) MissingStandby() map[string]int {
	return c.assigned.MissingStandby(c.claimant.request)
}

// pause waits about d, so that claimants who met once do not meet again.
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
