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
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
)

// claimant claims the hosts for one request.
type claimant struct {
	client  client.Client
	request contract.Request
	me      hosts.Owner

	hardware      map[string]*metal3.HardwareData // HardwareData by the name of the host; nil: not read yet
	hardwareExact bool                            // reports that hardware was read with age exact
	// taken has the hosts that this claim took or may have taken, by name. A value is the host as
	// last returned by the API server. It is nil if it is unknown whether the host was taken.
	taken map[string]*metal3.BareMetalHost
	// The following fields are reset at the beginning of each attempt:
	known   map[string]*metal3.BareMetalHost // hosts that were read or written one by one, as last returned by the API server; nil: gone
	written string                           // resourceVersion of the last write
	first   string                           // see assign.AssignFrom
}

// decision is an assignment, and the snapshot of the hosts for which it was made.
type decision struct {
	snapshot snapshot
	assigned assign.Assignment
	nodes    []contract.Node
}

// attempt makes an assignment, claims the assigned hosts that are not held yet, checks the result,
// and releases the hosts that are no longer needed. If another client claims a chosen host first,
// attempt chooses another host, if there is one.
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
		if d, err = c.chooseAgain(ctx, d, loss{at: at, times: lost, ascending: number >= strictOrderAfter}); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.recheckLimit(ctx, d.assigned); err != nil {
		return nil, err
	}
	kept, err := c.check(ctx, d)
	if err != nil {
		return nil, err
	}
	return &Claim{Nodes: d.nodes, Hosts: d.snapshot.facts, Kept: kept, claimant: c, assigned: d.assigned}, nil
}

// takeAll claims the hosts of a decision. If it cannot claim a host, it stops and returns the name
// of this host.
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

// decide reads the hosts and assigns them. It first uses data that may be old. If this fails, it
// decides again with exact data.
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

// assign makes a decision for one snapshot. If the address of a chosen host depends on its network
// data, assign reads these data after the choice. If the host then has no address, assign chooses
// again without it.
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
	if err := c.checkLimit(d.snapshot.facts, d.assigned); err != nil {
		return d, err
	}
	d.nodes, err = assign.Nodes(c.request, d.snapshot.facts, d.assigned)
	return d, err
}

// undo gives back the hosts that the claim took. It has a time limit of its own and also works
// after the claim was cancelled. It returns err. If hosts could not be given back, the result also
// contains that error.
func (c *claimant) undo(ctx context.Context, err error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	defer stop()
	_, failed := changeAll(ctx, c.client, c.me, c.taken, "release", func(host *metal3.BareMetalHost) {
		if c.request.OSImage == nil || !imaging.Ours(host) { // the next attempt uses the host with its image
			giveUp(c.me.Name)(host)
		}
	})
	switch {
	case failed == nil:
		clear(c.taken)
		return err
	case err == nil:
		return failed
	}
	return fmt.Errorf("%w; giving back the hosts also failed: %w", err, failed)
}
