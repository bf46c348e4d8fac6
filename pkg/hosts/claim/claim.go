package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
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
	Nodes []contract.Node // in the order of the request's slots
	Hosts []hosts.Host    // every host of the namespace as it was when the claim was made, for a log

	claimant *claimant
}

// Make claims a host for every slot of the request, and releases what its Provisioning holds beyond that. Made twice it changes nothing.
// When it fails, what it took is given back: the error is a *hosts.NoFit, a *hosts.AddressError, ErrContested or the API server's.
func Make(ctx context.Context, c client.Client, request contract.Request) (*Claim, error) {
	claimant := &claimant{client: c, request: request, me: hosts.OwnerOf(request)}
	var lost error
	for n := range attempts {
		if n > 0 {
			if err := pause(ctx, min(firstWait<<(n-1), longest)); err != nil {
				return nil, claimant.undo(ctx, err)
			}
		}
		claim, err := claimant.attempt(ctx)
		if err == nil {
			return claim, nil
		}
		err = claimant.undo(ctx, err)
		var nofit *hosts.NoFit
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

// claimant claims for one request.
type claimant struct {
	client  client.Client
	request contract.Request
	me      hosts.Owner
	taken   []string // hosts that are ours now and were not before, or may be
}

// attempt reads the world, decides, takes what is missing, reads back, and lets go of the rest.
func (c *claimant) attempt(ctx context.Context) (*Claim, error) {
	world, err := read(ctx, c.client, c.request.Namespace)
	if err != nil {
		return nil, err
	}
	assigned, err := hosts.Assign(c.request, world.facts)
	if err != nil {
		return nil, err
	}
	nodes, err := hosts.Nodes(c.request, world.facts, assigned)
	if err != nil {
		return nil, err
	}
	byName := slices.Clone(assigned)
	slices.SortFunc(byName, func(a, b hosts.Placed) int { return cmp.Compare(a.Host, b.Host) })
	for _, p := range byName {
		if err := c.take(ctx, world.objects[p.Host], p); err != nil {
			return nil, fmt.Errorf("claim host %s: %w", p.Host, err)
		}
	}
	if err := c.check(ctx, assigned.Hosts()); err != nil {
		return nil, err
	}
	return &Claim{Nodes: nodes, Hosts: world.facts, claimant: c}, nil
}

// check reads the hosts back, since there are clients that write consumerRef without looking, and releases those that are ours in excess.
func (c *claimant) check(ctx context.Context, assigned []string) error {
	world, err := read(ctx, c.client, c.request.Namespace)
	if err != nil {
		return err
	}
	var excess []string
	ours := 0
	for _, host := range world.facts {
		wanted := slices.Contains(assigned, host.Name)
		switch {
		case !c.me.Holds(host):
		case wanted:
			ours++
		default:
			excess = append(excess, host.Name)
		}
	}
	if ours != len(assigned) {
		return fmt.Errorf("%w: %d of %d hosts were taken from us", errLost, len(assigned)-ours, len(assigned))
	}
	_, err = Release(ctx, c.client, c.me, excess)
	return err
}

// undo gives back what was taken, within a limit but also if the claim itself was cancelled, and adds to the error if it cannot.
func (c *claimant) undo(ctx context.Context, err error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer stop()
	_, failed := Release(ctx, c.client, c.me, c.taken)
	switch {
	case failed == nil:
		c.taken = nil
		return err
	case err == nil:
		return failed
	}
	return fmt.Errorf("%w; then %w", err, failed)
}

// world is what the API server says of the hosts of a namespace.
type world struct {
	facts   []hosts.Host
	objects map[string]*metal3.BareMetalHost
}
