package claim

import (
	"context"
	"fmt"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// checkLimit returns a *hosts.OverLimit if the Provisionings of the namespace would hold more hosts than the
// request allows. An assignment that takes no new host is always allowed: a lower limit takes no host away. Lost hosts
// do not count, so that they can be replaced, and neither do those that this claim is about to release.
func (c *claimant) checkLimit(all []hosts.Host, assigned assign.Assignment) error {
	if c.request.MaxHosts == nil {
		return nil
	}
	others, mine, takes := 0, len(assigned), len(assigned)
	for _, h := range all {
		if h.Lost {
			continue
		}
		place := slices.ContainsFunc(assigned, func(p assign.Placed) bool { return p.Host == h.Name })
		switch isNew := c.isNew(h.Name); {
		case c.me.Holds(h) && place && !isNew:
			takes--
		case c.me.Holds(h) && !place && c.staysInstalled(h):
			mine++
		case !c.me.Holds(h) && hosts.OwnerIn(c.request.HostNamespace(), c.request.Namespace, h.HolderName()).Holds(h):
			others++
		}
	}
	if takes == 0 {
		return nil
	}
	return hosts.Within(c.request.MaxHosts, c.request.Namespace, others, mine)
}

// staysInstalled is like mayBeInstalled, for the facts of a host.
func (c *claimant) staysInstalled(h hosts.Host) bool {
	_, former := h.Labels[contract.LabelFormerNode]
	return former || slices.Contains(c.request.Installed, h.Name) || slices.Contains(c.request.Unreset, h.Name)
}

// isNew reports whether this claim took the host, or may have taken it.
func (c *claimant) isNew(host string) bool {
	_, taken := c.taken[host]
	return taken
}

// recheckLimit is like checkLimit, after the last write. Two Provisionings of the namespace can claim hosts at the
// same time, but each writes before it reads again, so at least one of them sees the hosts of both. It gives
// its hosts back and tries again later.
func (c *claimant) recheckLimit(ctx context.Context, assigned assign.Assignment) error {
	if c.request.MaxHosts == nil || len(c.taken) == 0 {
		return nil
	}
	var list metal3.BareMetalHostList
	if err := c.client.List(ctx, &list, client.InNamespace(c.request.HostNamespace())); err != nil {
		return fmt.Errorf("list the BareMetalHosts of namespace %s: %w", c.request.HostNamespace(), err)
	}
	all := make([]hosts.Host, len(list.Items))
	for i := range list.Items {
		all[i] = facts.Of(&list.Items[i], nil)
	}
	if err := c.checkLimit(all, assigned); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return nil
}
