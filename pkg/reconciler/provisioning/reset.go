package provisioning

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// requestFor returns the request of a run. If the spec is invalid, a reset uses the request of the
// last run, because a user must be able to delete such a Provisioning too.
func requestFor(seen plan.Seen, next plan.Step) contract.Request {
	request := next.Request
	if next.Operation == contract.OperationReset {
		request = seen.Request
		if seen.Invalid != "" && seen.Started.Provisioning != "" {
			request = seen.Started
		}
	}
	request.Operation = next.Operation
	request.Installed, request.PassedOver = installedExcept(seen), seen.PassOver
	request.Lost = append(slices.Clone(request.Lost), seen.NodesOf(seen.PassOver)...)
	request.Complete = seen.Complete()
	return request
}

// nodesOf returns the nodes of hosts as the labels of their claims describe them.
func nodesOf(held []hosts.Host, access contract.Access) []contract.Node {
	var nodes []contract.Node
	for _, h := range held {
		if h.Node == "" {
			continue
		}
		n := nodeFrom(h, access)
		n.Set, n.Standby = h.Set, h.Standby
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b contract.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// ensureMembers writes the nodes of a run that removes nodes into the inventory's ConfigMap: the nodes
// of the cluster, the unfinished nodes that the run removes, and the standby hosts.
func (r *Reconciler) ensureMembers(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, remove *contract.Removal) error {
	nodes := slices.Clone(seen.Memory.Nodes)
	for _, n := range seen.State().Unfinished {
		if slices.Contains(remove.Nodes, n.Name) {
			nodes = append(nodes, n)
		}
	}
	for _, n := range seen.Nodes {
		if n.Standby && seen.Site[n.Host].Ours {
			nodes = append(nodes, n)
		}
	}
	return r.ensureNodes(ctx, p, nodes)
}

func (r *Reconciler) ensureNodes(ctx context.Context, p *v1alpha1.Provisioning, nodes []contract.Node) error {
	text, err := json.MarshalIndent(nodes, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the nodes of the run: %w", err)
	}
	want := resources.MakeInventoryConfigMap(p, string(text)+"\n")
	_, err = ensure(ctx, p, r.kube.CoreV1().ConfigMaps(p.Namespace), want, func(have, want *corev1.ConfigMap) { have.Data = want.Data })
	return err
}

// ensureNodesToReset writes the nodes of a reset into the inventory's ConfigMap.
func (r *Reconciler) ensureNodesToReset(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, names []string) error {
	held, err := r.hosts.HeldLive(ctx, ownerOf(p))
	if err != nil {
		return err
	}
	all, err := r.hosts.All(ctx, p.Namespace) // with the HardwareData, which may hold the only addresses
	if err != nil {
		return fmt.Errorf("list the hosts of namespace %s: %w", p.Namespace, err)
	}
	for i, h := range held {
		if known := slices.IndexFunc(all, func(a hosts.Host) bool { return a.UID == h.UID }); known >= 0 {
			held[i].NICs, held[i].MACs = all[known].NICs, all[known].MACs
		}
	}
	return r.ensureNodes(ctx, p, nodesToReset(seen, held, names))
}

// nodesToReset returns the nodes of the named hosts. A node comes from the list that select-hosts
// has stored. The list can lack a host, for example because a user deleted it, or because another
// host has replaced this host. Then the node is made from the labels and the facts of the host.
func nodesToReset(seen plan.Seen, held []hosts.Host, names []string) []contract.Node {
	var nodes []contract.Node
	for _, h := range held {
		if !slices.Contains(names, h.Name) {
			continue
		}
		i := slices.IndexFunc(seen.Nodes, func(n contract.Node) bool { return n.Host == h.Name && n.HostUID == h.UID })
		if i >= 0 {
			nodes = append(nodes, seen.Nodes[i])
			continue
		}
		nodes = append(nodes, nodeFrom(h, seen.Request.Access))
	}
	slices.SortFunc(nodes, func(a, b contract.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

func nodeFrom(h hosts.Host, access contract.Access) contract.Node {
	n := contract.Node{Name: cmp.Or(h.Node, h.Labels[contract.LabelFormerNode], h.Name), Host: h.Name, HostUID: h.UID, MACs: h.MACs}
	for _, role := range []string{contract.RoleControlPlane, contract.RoleWorker} {
		if h.Labels[contract.LabelRolePrefix+role] != "" {
			n.Roles = append(n.Roles, role)
		}
	}
	if len(n.Roles) == 0 {
		n.Roles = []string{contract.RoleWorker}
	}
	if ip := h.Address("", access); ip != (netip.Addr{}) {
		n.Address = ip.String()
	}
	return n
}
