package provisioning

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
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
			request = contract.Request{Spec: seen.Memory.Request}
		}
	}
	if request.Operation = next.Operation; request.Operation != contract.OperationRestore { // the last run may have been one
		request.Restore = nil
	}
	request.Installed, request.PassedOver = installedFor(request, seen), slices.Concat(request.PassedOver, seen.PassOver)
	request.Lost = append(slices.Clone(request.Lost), seen.NodesOf(seen.PassOver)...)
	request.Complete = seen.Complete()
	if request.OfRecord() {
		request.Readdress(seen.Nodes)
	}
	request.Outcome = contract.OutcomeName(contract.RunRequestName(seen.Name, next.Number))
	return request
}

// nodesOf returns the nodes that the run works on beside the members (contract.Request.Nodes).
func (r *Reconciler) nodesOf(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step, request contract.Request) ([]contract.Node, error) {
	switch {
	case request.Operation == contract.OperationReset:
		held, err := r.heldWithFacts(ctx, p)
		return nodesToReset(seen, held, next.Hosts), err
	case request.Remove != nil:
		return r.unfinished(ctx, p, seen, request.Remove.Nodes)
	case request.OfRecord(), request.ClaimsHosts():
		return nil, nil
	}
	return seen.Nodes, nil // a cluster without a record
}

// unfinished returns those of the named nodes that have not joined the cluster.
func (r *Reconciler) unfinished(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, names []string) (nodes []contract.Node, err error) {
	var held []hosts.Host
	for _, n := range seen.State().Unfinished {
		if !slices.Contains(names, n.Name) {
			continue
		}
		if n.Address == "" && held == nil {
			if held, err = r.heldWithFacts(ctx, p); err != nil {
				return nil, err
			}
		}
		nodes = append(nodes, withFacts(n, held, seen.Request.Access))
	}
	return nodes, nil
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
