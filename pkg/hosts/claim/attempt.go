package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
)

// claimant claims for one request.
type claimant struct {
	client  client.Client
	request contract.Request
	me      hosts.Owner

	hardware map[string]*metal3.HardwareData // by host; nil: not read yet
	surely   bool                            // the hardware was read exactly
	// taken are hosts that are ours now and were not before, or may be, as the API server last gave them; nil: nobody knows.
	taken map[string]*metal3.BareMetalHost
	// What this attempt has seen:
	known   map[string]*metal3.BareMetalHost // what the API server said of single hosts, last; nil: gone
	written string                           // resourceVersion of the last write
	first   string                           // of equal hosts, which to take first; empty: by name
}

// decision is what to do, and the world that it was made for.
type decision struct {
	snapshot snapshot
	assigned assign.Assignment
	nodes    []contract.Node
}

// attempt decides, takes what is missing, looks at the result, and lets go of the rest. Where others are faster it takes other hosts, if there are.
func (c *claimant) attempt(ctx context.Context, number int) (*Claim, error) {
	c.known, c.written, c.first = map[string]*metal3.BareMetalHost{}, "", ""
	d, err := c.decide(ctx)
	if err != nil {
		return nil, err
	}
	for lost := 0; ; lost++ {
		var at string
		if at, err = c.takeAll(ctx, d); !errors.Is(err, errLost) || lost == maxRechoices {
			break
		}
		if d, err = c.chooseAgain(ctx, d, contested{at: at, times: lost, upward: number >= strictOrderAfter}); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	kept, err := c.check(ctx, d)
	if err != nil {
		return nil, err
	}
	return &Claim{Nodes: d.nodes, Hosts: d.snapshot.facts, Kept: kept, claimant: c, assigned: d.assigned}, nil
}

// takeAll takes the hosts of a decision, or tells at which it failed.
func (c *claimant) takeAll(ctx context.Context, d decision) (at string, err error) {
	if err := c.checkSecrets(ctx, d); err != nil {
		return "", err
	}
	byName := slices.Clone(d.assigned)
	slices.SortFunc(byName, func(a, b assign.Placed) int { return cmp.Compare(a.Host, b.Host) })
	for _, p := range byName {
		if err := c.take(ctx, d.snapshot.objects[p.Host], p); err != nil {
			return p.Host, fmt.Errorf("claim host %s: %w", p.Host, err)
		}
	}
	return "", nil
}

// decide reads the world and assigns. What does not work out in a world that may be old is decided again in the real one.
func (c *claimant) decide(ctx context.Context) (decision, error) {
	d, err := c.decideIn(ctx, recent)
	if err == nil || ctx.Err() != nil {
		return d, err
	}
	return c.decideIn(ctx, exact)
}

func (c *claimant) decideIn(ctx context.Context, oldest age) (decision, error) {
	w, err := c.read(ctx, oldest)
	if err != nil {
		return decision{}, err
	}
	return c.assign(ctx, w)
}

// assign decides in one world. Whose address depends on network data has them read once it is chosen; without an address it then is not chosen again.
func (c *claimant) assign(ctx context.Context, w snapshot) (d decision, err error) {
	d.snapshot = w
	for again := true; again; {
		if d.assigned, err = assign.AssignFrom(c.request, d.snapshot.facts, c.first); err != nil {
			return d, err
		}
		if again, err = c.readNetworks(ctx, d.snapshot, d.assigned); err != nil {
			return d, err
		}
	}
	d.nodes, err = assign.Nodes(c.request, d.snapshot.facts, d.assigned)
	return d, err
}

// undo gives back what was taken, within a limit but also if the claim itself was cancelled, and adds to the error if it cannot.
func (c *claimant) undo(ctx context.Context, err error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer stop()
	_, failed := changeAll(ctx, c.client, c.me, c.taken, "release", giveUp(c.me.Name))
	switch {
	case failed == nil:
		clear(c.taken)
		return err
	case err == nil:
		return failed
	}
	return fmt.Errorf("%w; then %w", err, failed)
}
