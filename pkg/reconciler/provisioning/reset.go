package provisioning

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// requestFor returns the request of a run. If the spec is invalid, a reset uses the request of the last run, or that of the
// record if all runs were deleted, because a user must be able to delete such a Provisioning too.
func requestFor(seen plan.Seen, next plan.Step) contract.Request {
	request := next.Request
	if next.Operation == contract.OperationReset {
		request = seen.Request
		switch {
		case seen.Invalid == "":
		case seen.Started.Provisioning != "":
			request = seen.Started
		case seen.Memory != nil:
			request = seen.Memory.Request
		}
	}
	if request.Operation = next.Operation; request.Operation != contract.OperationRestore { // the last run may have been one
		request.Restore = nil
	}
	request.Installed, request.PassedOver = installedFor(request, seen), slices.Concat(request.PassedOver, seen.PassOver)
	request.Lost = append(slices.Clone(request.Lost), seen.NodesOf(seen.PassOver)...)
	request.Complete = seen.Complete()
	return request
}

// ensureMembers writes the nodes of a run that removes nodes into the inventory's ConfigMap: the nodes
// of the cluster, the unfinished nodes that the run removes, and the standby hosts.
func (r *Reconciler) ensureMembers(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, remove *contract.Removal) error {
	nodes := slices.Clone(seen.Memory.Nodes)
	var held []hosts.Host
	for _, n := range seen.State().Unfinished {
		if !slices.Contains(remove.Nodes, n.Name) {
			continue
		}
		if n.Address == "" && held == nil {
			var err error
			if held, err = r.heldWithFacts(ctx, p); err != nil {
				return err
			}
		}
		nodes = append(nodes, withFacts(n, held, seen.Request.Access))
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

// withFacts completes a node that is not in the list of select-hosts any more, for example because
// another host has replaced its host, from the labels and the facts of the host.
func withFacts(n contract.Node, held []hosts.Host, access contract.Access) contract.Node {
	i := slices.IndexFunc(held, func(h hosts.Host) bool { return h.Name == n.Host && h.UID == n.HostUID })
	if n.Address != "" || i < 0 {
		return n
	}
	made := plan.ClaimedNode(held[i], access)
	made.Name = n.Name
	return made
}

// heldWithFacts returns the claimed hosts. It reads them from the API server itself, and adds the
// facts of their HardwareData, which may hold the only addresses.
func (r *Reconciler) heldWithFacts(ctx context.Context, p *v1alpha1.Provisioning) ([]hosts.Host, error) {
	held, err := r.hosts.HeldLive(ctx, ownerOf(p))
	if err != nil {
		return nil, err
	}
	all, err := r.hosts.All(ctx, p.HostNamespace())
	if err != nil {
		return nil, fmt.Errorf("list the hosts of namespace %s: %w", p.HostNamespace(), err)
	}
	for i, h := range held {
		if known := slices.IndexFunc(all, func(a hosts.Host) bool { return a.UID == h.UID }); known >= 0 {
			held[i].NICs, held[i].MACs = all[known].NICs, all[known].MACs
		}
	}
	return held, nil
}

// ensureNodesToReset writes the nodes of a reset into the inventory's ConfigMap.
func (r *Reconciler) ensureNodesToReset(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, names []string) error {
	held, err := r.heldWithFacts(ctx, p)
	if err != nil {
		return err
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
		nodes = append(nodes, plan.ClaimedNode(h, seen.Request.Access))
	}
	slices.SortFunc(nodes, func(a, b contract.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}
