package claim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/hosts/networkdata"
)

// readNetworks reads the network data of those assigned hosts whose address depends on them, and
// reports whether there were such hosts. A host with missing or invalid network data gets no
// address from them and is not chosen again; other hosts can be chosen instead.
func (c *claimant) readNetworks(ctx context.Context, w snapshot, assigned assign.Assignment) (found bool, err error) {
	byName := map[string]*hosts.Host{}
	for i := range w.facts {
		byName[w.facts[i].Name] = &w.facts[i]
	}
	for _, p := range assigned {
		host := byName[p.Host]
		if !host.NetworkUnread || !host.WantsNetworkData(p.MAC, c.request.Access) {
			continue
		}
		secret := &corev1.Secret{}
		name := facts.NetworkDataSecret(w.objects[p.Host])
		err := c.client.Get(ctx, client.ObjectKey{Namespace: c.request.HostNamespace(), Name: name}, secret)
		if err != nil && !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("read the network data of host %s in Secret %s: %w", p.Host, name, err)
		}
		if host.NetworkData, err = networkdata.OfSecret(secret.Data); err != nil {
			host.NetworkData, host.NetworkUnreadable = nil, true
		}
		host.NetworkUnread, found = false, true
	}
	return found, nil
}

// Refresh reads the addresses of the nodes again. This is necessary after an installation, because
// a host may get its address only with its operating system.
func (c *Claim) Refresh(ctx context.Context) error {
	w, err := c.claimant.read(ctx, exact)
	if err != nil {
		return err
	}
	if _, err := c.claimant.readNetworks(ctx, w, c.assigned); err != nil {
		return err
	}
	nodes, err := assign.Nodes(c.claimant.request, w.facts, c.assigned)
	if err != nil {
		return err
	}
	c.Nodes, c.Hosts = nodes, w.facts
	return nil
}
