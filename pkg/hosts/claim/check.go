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

// check lists our hosts once after the last write, because the decision may be based on old data,
// and some clients write consumerRef without a check. All assigned hosts must be ours. Other hosts
// that are ours are released, unless the cluster may be installed on them.
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
		return nil, fmt.Errorf("%w: %d of %d claimed hosts are no longer held", errLost, missing, len(d.assigned))
	}
	for name, host := range d.snapshot.objects { // hosts whose label was removed
		if c.me.Holds(essence(host, c.request)) && ours[name] == nil {
			ours[name] = host
		}
	}
	for _, p := range d.assigned {
		delete(ours, p.Host)
	}
	return c.releaseExcess(ctx, ours)
}

// ours lists the hosts with our label that we hold, with data that are at least as new as the last
// write. If nothing was written, the list is exact.
func (c *claimant) ours(ctx context.Context) (map[string]*metal3.BareMetalHost, error) {
	raw := &metav1.ListOptions{}
	if c.written != "" { // the API server can then answer from its cache
		raw.ResourceVersion, raw.ResourceVersionMatch = c.written, metav1.ResourceVersionMatchNotOlderThan
	}
	var list metal3.BareMetalHostList
	err := c.client.List(ctx, &list, client.InNamespace(c.request.Namespace), client.MatchingLabels{contract.LabelCluster: c.request.Provisioning},
		&client.ListOptions{Raw: raw})
	if err != nil {
		return nil, fmt.Errorf("list the claimed BareMetalHosts in namespace %s: %w", c.request.Namespace, err)
	}
	ours := map[string]*metal3.BareMetalHost{}
	for i := range list.Items {
		if host := &list.Items[i]; c.me.Holds(essence(host, c.request)) {
			ours[host.Name] = host
		}
	}
	return ours, nil
}

// releaseExcess releases hosts that are held and not assigned. A host that is lost, or on which the
// cluster is or may be installed, stays held, because software of the cluster may still run on it.
// This does not apply to a host that this claim took. A host that stays held loses its node name,
// so that it does not come back as a node whose place another host has.
func (c *claimant) releaseExcess(ctx context.Context, excess map[string]*metal3.BareMetalHost) (kept []string, err error) {
	release := maps.Clone(excess)
	for name, host := range excess {
		_, isNew := c.taken[name]
		if isNew || !essence(host, c.request).Lost && !c.mayBeInstalled(host) {
			continue
		}
		delete(release, name)
		kept = append(kept, name)
		if _, err := change(ctx, c.client, c.me, name, host, c.retire); err != nil {
			return nil, fmt.Errorf("remove the node labels from host %s, which stays held: %w", name, err)
		}
	}
	slices.Sort(kept)
	_, err = changeAll(ctx, c.client, c.me, release, "release", giveUp(c.me.Name))
	return kept, err
}

// mayBeInstalled reports whether the cluster may be installed on a host. The request lists such
// hosts. A later request lists only the nodes of the last run, so the label that an earlier claim
// wrote counts as well.
func (c *claimant) mayBeInstalled(host *metal3.BareMetalHost) bool {
	_, former := host.Labels[contract.LabelFormerNode]
	return former || slices.Contains(c.request.Installed, host.Name)
}

// retire keeps a host held, but removes it from the nodes of the cluster. A lost host gets no label
// for its former node: a user ends the quarantine, and then the host is like any other.
func (c *claimant) retire(host *metal3.BareMetalHost) {
	mayBeInstalled, node := c.mayBeInstalled(host), cmp.Or(host.Labels[contract.LabelNode], host.Labels[contract.LabelFormerNode], "unknown")
	dropLabels(host)
	setLabel(host, contract.LabelCluster, c.request.Provisioning)
	if mayBeInstalled && !facts.Of(host, nil).Lost {
		setLabel(host, contract.LabelFormerNode, node)
	}
}
