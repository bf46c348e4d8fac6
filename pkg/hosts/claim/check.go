package claim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// check looks at our hosts at one moment after the last write, since the world may have been old and there are clients that write consumerRef without
// looking. All must be ours then. What is ours beyond that is released, if nothing can be left on it.
func (c *claimant) check(ctx context.Context, d decision) (kept []string, err error) {
	ours, err := c.ours(ctx)
	if err != nil {
		return nil, err
	}
	held := 0
	for _, p := range d.assigned {
		if ours[p.Host] != nil {
			held++
		}
	}
	if missing := len(d.assigned) - held; missing > 0 {
		return nil, fmt.Errorf("%w: %d of %d hosts were taken from us", errLost, missing, len(d.assigned))
	}
	for name, host := range d.world.objects { // those whose label somebody took away
		if c.me.Holds(essence(host, c.request)) && ours[name] == nil {
			ours[name] = host
		}
	}
	for _, p := range d.assigned {
		delete(ours, p.Host)
	}
	return c.letGo(ctx, ours)
}

// ours lists the hosts with our label that we hold, as they are after the last write. Without a write it is the present that counts.
func (c *claimant) ours(ctx context.Context) (map[string]*metal3.BareMetalHost, error) {
	raw := &metav1.ListOptions{}
	if c.written != "" { // the API server need not ask its database
		raw.ResourceVersion, raw.ResourceVersionMatch = c.written, metav1.ResourceVersionMatchNotOlderThan
	}
	var list metal3.BareMetalHostList
	err := c.client.List(ctx, &list, client.InNamespace(c.request.Namespace), client.MatchingLabels{contract.LabelCluster: c.request.Provisioning},
		&client.ListOptions{Raw: raw})
	if err != nil {
		return nil, fmt.Errorf("list our BareMetalHosts of namespace %s: %w", c.request.Namespace, err)
	}
	ours := map[string]*metal3.BareMetalHost{}
	for i := range list.Items {
		if host := &list.Items[i]; c.me.Holds(essence(host, c.request)) {
			ours[host.Name] = host
		}
	}
	return ours, nil
}

// letGo releases hosts that are ours in excess. One that is lost, or on which the cluster is or may be installed, stays ours, unless it is new: nobody
// knows what still runs on it. It loses its node, which another host is now, so that it does not come back as that node.
func (c *claimant) letGo(ctx context.Context, excess map[string]*metal3.BareMetalHost) (kept []string, err error) {
	release := maps.Clone(excess)
	for name, host := range excess {
		_, isNew := c.taken[name]
		if isNew || !essence(host, c.request).Lost && !slices.Contains(c.request.Installed, name) {
			continue
		}
		delete(release, name)
		kept = append(kept, name)
		if _, err := change(ctx, c.client, c.me, name, host, retire); err != nil {
			return nil, fmt.Errorf("take the node from host %s, which stays held: %w", name, err)
		}
	}
	slices.Sort(kept)
	_, err = giveBack(ctx, c.client, c.me, release)
	return kept, err
}
