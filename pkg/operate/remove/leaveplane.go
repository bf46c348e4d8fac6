package remove

import (
	"context"
	"errors"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/reset"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Progress of the removal of a control plane in percent.
const (
	leaveFrom, leaveShare     = 40, 30
	proxiesAt, proxiesShareOf = 95, 3
)

// leaveControlPlane takes the control planes that leave out of etcd. Before that, the others stop
// using their API servers, and after that their members of etcd. The record has them without their members
// from then on, because members of etcd count for its majority.
func (r *remover) leaveControlPlane(ctx context.Context) error {
	leave := node.ControlPlanes(r.leave)
	if len(leave) == 0 {
		return nil
	}
	gone := slices.Concat(leave, node.ControlPlanes(r.kept())) // no control plane must depend on a lost one either
	p := controlplane.Group{Input: r.in, Access: r.w.Access, Ports: r.ports, Stay: r.controlPlanes(session.Names(r.leave)), Gone: gone}
	r.progress.Set(leaveFrom, "Point the control planes to their own API servers")
	if err := p.Repoint(ctx); err != nil {
		return err
	}
	p.TakeAddress(ctx, slices.DeleteFunc(slices.Clone(leave), func(n contract.Node) bool {
		return slices.ContainsFunc(r.absent, func(a reset.Absence) bool { return a.Node.Name == n.Name })
	}))
	if err := p.ShareAddress(ctx, p.Stay); err != nil {
		return err
	}
	r.progress.Set(leaveFrom, "Remove "+session.JoinNames(leave)+" from etcd")
	if err := r.eachMember(ctx, (*cluster.View).RemoveMember); err != nil {
		return err
	}
	err := r.members.Change(ctx, func(next *contract.Installed) { // if a reset fails, its node stays in the record
		for i, n := range next.Nodes {
			if session.HasName(leave, n.Name) {
				next.Nodes[i].Etcd = ""
			}
		}
	})
	if err != nil {
		return err
	}
	if err := p.Publish(ctx); err != nil {
		return err
	}
	return p.UseServers(ctx, r.part(leaveFrom, leaveShare))
}

// checkServer refuses a removal that would cut off the workers that stay.
func (r *remover) checkServer(ctx context.Context) error {
	return controlplane.CheckServer(ctx, r.w, r.in.For(r.stay()), node.ControlPlanes(r.leave))
}

// updateProxies updates the proxies of the workers that stay, if control planes leave. It also does
// this if they have left in an earlier attempt, because workers that were not Ready were left out.
func (r *remover) updateProxies(ctx context.Context) error {
	if len(node.ControlPlanes(r.leave)) == 0 && r.in.Request.Operation != contract.OperationRemoveControlPlane {
		return nil
	}
	in := r.in.For(r.stay())
	in.Request.Members, in.Request.Remove = in.Nodes, nil
	if in = reset.WithInventory(in, r.ports); len(in.HostsINI) == 0 {
		return task.Because(contract.ReasonInvalidRequest,
			errors.New("there is no inventory of the nodes that stay, so the proxies of the workers cannot be updated"))
	}
	r.progress.Set(proxiesAt, "Update the proxies of the workers")
	return controlplane.UpdateProxies(ctx, in, r.w.Access, r.ports, r.part(proxiesAt, proxiesShareOf))
}

// kept returns the lost nodes of the record that do not leave.
func (r *remover) kept() []contract.Node {
	return slices.DeleteFunc(slices.Clone(r.in.Nodes), func(n contract.Node) bool {
		return session.HasName(r.leave, n.Name) || !session.HasName(r.members.Now.Nodes, n.Name) || !slices.Contains(r.in.Request.Kept, n.Name)
	})
}
