package software

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Labels of ICN.
const (
	labelCluster = "cluster"
	labelOwner   = "owner"
)

// Status returns the status of all Softwares of a cluster. They are in the namespace with the name of the
// owner, or else in another namespace with the owner's name in the label "owner". may reports whether
// the caller may read a namespace. Softwares of other namespaces are not returned.
func (c *Client) Status(ctx context.Context, owner, cluster string, may func(namespace string) (bool, error)) (protocol.ClusterStatus, error) {
	found := map[string][]object{}
	visit := func(o object) {
		if o.isOf(cluster) {
			found[o.Metadata.Namespace] = append(found[o.Metadata.Namespace], o)
		}
	}
	if len(validation.IsDNS1123Label(owner)) == 0 {
		if err := c.each(ctx, owner, "", visit); err != nil {
			return protocol.ClusterStatus{}, err
		}
	}
	if len(validation.IsValidLabelValue(owner)) == 0 {
		err := c.each(ctx, "", labelOwner+"="+owner, func(o object) {
			if o.Metadata.Namespace != owner {
				visit(o)
			}
		})
		if err != nil {
			return protocol.ClusterStatus{}, err
		}
	}
	for _, namespace := range slices.SortedFunc(maps.Keys(found), func(a, b string) int { return order(a, b, owner) }) {
		if allowed, err := may(namespace); err != nil || allowed {
			return merge(owner, cluster, namespace, found[namespace]), err
		}
	}
	return merge(owner, cluster, "", nil), nil
}

// order sorts namespaces by name, the owner's first.
func order(a, b, owner string) int {
	if (a == owner) != (b == owner) {
		if a == owner {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// isOf reports whether a Software is of a cluster. A cluster has two names: that of its Provisioning, and
// the label "cluster".
func (o object) isOf(cluster string) bool {
	name := o.Spec.Cluster
	if name == "" {
		name = o.Metadata.Labels[labelCluster]
	}
	return name == cluster || o.Status.Cluster == cluster
}

// merge returns the status of the Softwares of one cluster. If two of them have the same package on a
// node, the newer row counts, since the older one is left from an earlier reconciliation.
func merge(owner, cluster, namespace string, all []object) protocol.ClusterStatus {
	nodes := map[string]node{}
	rows := map[string]map[string]row{}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	for _, o := range all {
		for _, n := range o.Status.Nodes {
			if old, known := nodes[n.Name]; !known || newer(n.Checked, old.Checked) {
				nodes[n.Name] = n
			}
			if rows[n.Name] == nil {
				rows[n.Name] = map[string]row{}
			}
			for _, r := range n.Packages {
				if old, known := rows[n.Name][r.Name]; !known || newer(r.Since, old.Since) {
					rows[n.Name][r.Name] = r
				}
			}
		}
	}
	status := protocol.ClusterStatus{Owner: owner, ClusterName: cluster, Namespace: namespace, Nodes: []protocol.NodeStatus{}}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := protocol.NodeStatus{Node: name, Checked: nodes[name].Checked, Message: nodes[name].Message, Packages: []protocol.PackageStatus{}}
		for _, r := range rows[name] {
			p := protocol.PackageStatus(r)
			p.State = strings.ToLower(r.State)
			status.Totals.Add(p.State)
			n.Packages = append(n.Packages, p)
		}
		slices.SortFunc(n.Packages, func(a, b protocol.PackageStatus) int { return cmp.Compare(a.Name, b.Name) })
		status.Nodes = append(status.Nodes, n)
	}
	return status
}

// newer reports whether a time is known and after another one.
func newer(a, b *time.Time) bool { return a != nil && (b == nil || a.After(*b)) }
