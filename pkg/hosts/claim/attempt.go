package claim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// claimant claims for one request.
type claimant struct {
	client  client.Client
	cache   client.Reader // nil: none
	request contract.Request
	me      hosts.Owner

	hardware map[string]*metal3.HardwareData // by host; nil: not read yet
	// taken are hosts that are ours now and were not before, or may be, as the API server last gave them; nil: nobody knows.
	taken   map[string]*metal3.BareMetalHost
	written string // resourceVersion of the last write
}

// decision is what to do, and the world that it was made for.
type decision struct {
	world    world
	assigned hosts.Assignment
	nodes    []contract.Node
}

// attempt decides, takes what is missing, looks at the result, and lets go of the rest.
func (c *claimant) attempt(ctx context.Context, exact bool) (*Claim, error) {
	d, err := c.decide(ctx, exact)
	if err != nil {
		return nil, err
	}
	if err := c.checkSecrets(ctx, d); err != nil {
		return nil, err
	}
	byName := slices.Clone(d.assigned)
	slices.SortFunc(byName, func(a, b hosts.Placed) int { return cmp.Compare(a.Host, b.Host) })
	c.written = ""
	for _, p := range byName {
		if err := c.take(ctx, d.world.objects[p.Host], p); err != nil {
			return nil, fmt.Errorf("claim host %s: %w", p.Host, err)
		}
	}
	kept, err := c.check(ctx, d)
	if err != nil {
		return nil, err
	}
	return &Claim{Nodes: d.nodes, Hosts: d.world.facts, Kept: kept, claimant: c, assigned: d.assigned}, nil
}

// decide reads the world and assigns. What does not work out in a world that may be old is decided again in the real one.
func (c *claimant) decide(ctx context.Context, exact bool) (decision, error) {
	d, err := c.assign(ctx, exact)
	if err == nil || exact || ctx.Err() != nil {
		return d, err
	}
	c.hardware = nil
	return c.assign(ctx, true)
}

// assign decides in one world. Whose address depends on network data has them read once it is chosen; without an address it then is not chosen again.
func (c *claimant) assign(ctx context.Context, exact bool) (d decision, err error) {
	if d.world, err = c.read(ctx, exact); err != nil {
		return d, err
	}
	for again := true; again; {
		if d.assigned, err = hosts.Assign(c.request, d.world.facts); err != nil {
			return d, err
		}
		if again, err = c.readNetworks(ctx, d.world, d.assigned); err != nil {
			return d, err
		}
	}
	d.nodes, err = hosts.Nodes(c.request, d.world.facts, d.assigned)
	return d, err
}

// undo gives back what was taken, within a limit but also if the claim itself was cancelled, and adds to the error if it cannot.
func (c *claimant) undo(ctx context.Context, err error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer stop()
	_, failed := giveBack(ctx, c.client, c.me, c.taken)
	switch {
	case failed == nil:
		clear(c.taken)
		return err
	case err == nil:
		return failed
	}
	return fmt.Errorf("%w; then %w", err, failed)
}
