package claim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
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
	for name, host := range d.snapshot.objects { // those whose label somebody took away
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
		if isNew || !essence(host, c.request).Lost && !c.mayRun(host) {
			continue
		}
		delete(release, name)
		kept = append(kept, name)
		if _, err := change(ctx, c.client, c.me, name, host, c.retire); err != nil {
			return nil, fmt.Errorf("take the node from host %s, which stays held: %w", name, err)
		}
	}
	slices.Sort(kept)
	_, err = changeAll(ctx, c.client, c.me, release, "release", giveUp(c.me.Name))
	return kept, err
}

// mayRun reports whether the cluster may be installed on a host: by the request, or, since a later request knows no more than the nodes that came out of this
// one, by what an earlier claim wrote on it.
func (c *claimant) mayRun(host *metal3.BareMetalHost) bool {
	_, former := host.Labels[contract.LabelFormerNode]
	return former || slices.Contains(c.request.Installed, host.Name)
}

// retire leaves a host ours and takes it out of the cluster's nodes. Of a lost one it notes nothing: a person ends that, and then it is like any other.
func (c *claimant) retire(host *metal3.BareMetalHost) {
	may, node := c.mayRun(host), cmp.Or(host.Labels[contract.LabelNode], host.Labels[contract.LabelFormerNode], "unknown")
	dropLabels(host)
	setLabel(host, contract.LabelCluster, c.request.Provisioning)
	if may && !facts.Of(host, nil).Lost {
		setLabel(host, contract.LabelFormerNode, node)
	}
}
