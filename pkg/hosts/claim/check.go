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

// check lists our hosts once more after the last write. This is necessary because the decision may
// be based on old data, and because some clients write consumerRef without checking it. check
// returns an error unless all assigned hosts are ours. It releases our other hosts. Hosts that are
// lost, and hosts on which the cluster may be installed, stay held; check returns their names.
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
	for name, host := range d.snapshot.objects { // hosts of which a user has removed the label
		if c.me.Holds(essence(host, c.request)) && ours[name] == nil {
			ours[name] = host
		}
	}
	for _, p := range d.assigned {
		delete(ours, p.Host)
	}
	return c.releaseExcess(ctx, ours)
}

// ours lists the hosts that we hold and that have our label. The data are at least as new as the
// last write. If nothing was written, they are exact.
func (c *claimant) ours(ctx context.Context) (map[string]*metal3.BareMetalHost, error) {
	raw := &metav1.ListOptions{}
	if c.written != "" { // with this option, the API server can answer from its cache
		raw.ResourceVersion, raw.ResourceVersionMatch = c.written, metav1.ResourceVersionMatchNotOlderThan
	}
	var list metal3.BareMetalHostList
	err := c.client.List(ctx, &list, client.InNamespace(c.request.HostNamespace()), client.MatchingLabels{contract.LabelCluster: c.request.Provisioning},
		&client.ListOptions{Raw: raw})
	if err != nil {
		return nil, fmt.Errorf("list the claimed BareMetalHosts in namespace %s: %w", c.request.HostNamespace(), err)
	}
	ours := map[string]*metal3.BareMetalHost{}
	for i := range list.Items {
		if host := &list.Items[i]; c.me.Holds(essence(host, c.request)) {
			ours[host.Name] = host
		}
	}
	return ours, nil
}

// releaseExcess releases the hosts that are held but not assigned. Two kinds of host stay held:
// lost hosts, and hosts on which the cluster is or may be installed, because the cluster's software
// may still run there. A host that this claim itself took is always released.
//
// A host that stays held loses the labels of its node. Otherwise, it could later be mistaken for
// that node, although another host now has the node's place.
func (c *claimant) releaseExcess(ctx context.Context, excess map[string]*metal3.BareMetalHost) (kept []string, err error) {
	release := maps.Clone(excess)
	for name, host := range excess {
		_, isNew := c.taken[name]
		if isNew || !essence(host, c.request).Lost && !c.mayBeInstalled(host) {
			continue
		}
		delete(release, name)
		kept = append(kept, name)
		if _, _, err := change(ctx, c.client, c.me, name, host, c.retire); err != nil {
			return nil, fmt.Errorf("remove the node labels from host %s, which stays held: %w", name, err)
		}
	}
	slices.Sort(kept)
	_, err = changeAll(ctx, c.client, c.me, release, "release", giveUp(c.me.Name))
	return kept, err
}

// mayBeInstalled reports whether the cluster may be installed on a host. This is the case if the
// request lists the host as installed or as not reset, or if an earlier claim wrote the label contract.LabelFormerNode. The
// label is needed because a later request lists only the hosts of the last run.
func (c *claimant) mayBeInstalled(host *metal3.BareMetalHost) bool {
	_, former := host.Labels[contract.LabelFormerNode]
	return former || slices.Contains(c.request.Installed, host.Name) || slices.Contains(c.request.Unreset, host.Name)
}

// retire changes the labels of a host that stays held, so that the host is no longer a node of the
// cluster. A host that is not lost gets a label with its former node. A lost host gets no such
// label, because it can be used like any other host after a user has ended its quarantine.
func (c *claimant) retire(host *metal3.BareMetalHost) {
	mayBeInstalled, node := c.mayBeInstalled(host), cmp.Or(host.Labels[contract.LabelNode], host.Labels[contract.LabelFormerNode], "unknown")
	dropLabels(host)
	setLabel(host, contract.LabelCluster, c.request.Provisioning)
	if mayBeInstalled && !facts.Of(host, nil).Lost {
		setLabel(host, contract.LabelFormerNode, node)
	}
}
