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
	request := seen.Request
	if next.Operation == contract.OperationReset && seen.Invalid != "" && seen.Started.Provisioning != "" {
		request = seen.Started
	}
	request.Installed, request.PassedOver = installedExcept(seen), seen.PassOver
	request.Lost = append(next.LostNodes(), seen.NodesOf(seen.PassOver)...)
	request.Complete = seen.Complete()
	return request
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
	text, err := json.MarshalIndent(nodesToReset(seen, held, names), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the nodes to reset: %w", err)
	}
	want := resources.MakeInventoryConfigMap(p, string(text)+"\n")
	_, err = ensure(ctx, p, r.kube.CoreV1().ConfigMaps(p.Namespace), want, func(have, want *corev1.ConfigMap) { have.Data = want.Data })
	return err
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
