package installsoftware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Spares asks etcd, through the first of these control planes that has a member, and returns an error if it
// has no majority without the control plane n.
func Spares(ctx context.Context, in Input, dial node.Dial, knownHosts playbook.Store, planes []contract.Node, n contract.Node) error {
	access, err := accessTo(ctx, in, dial, knownHosts)
	if err != nil {
		return err
	}
	return etcd.Reach{Access: access, Kubectl: kubectl(in), Limit: in.CallLimit}.Spares(ctx, planes, n)
}

// accessTo returns the access to the nodes over SSH.
func accessTo(ctx context.Context, in Input, dial node.Dial, knownHosts playbook.Store) (node.Access, error) {
	known, err := knownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return node.Access{}, task.Because(kube.Reason(err), err)
	}
	return node.NewAccess(dial, in.Request, in.PrivateKey, known, in.ConnectLimit)
}

// kubectl returns a function with the beginning of a command that runs kubectl on a control plane.
func kubectl(in Input) func(contract.Node) string {
	return func(via contract.Node) string {
		return node.Kubectl(via, slices.Concat(in.Nodes, in.Request.Members), in.GroupVars)
	}
}

// isPlane reports whether the node is a control plane of the cluster.
func isPlane(n contract.Node) bool {
	return slices.Contains(n.Roles, contract.RoleControlPlane) && !n.Standby
}

// quorum refuses to drain a control plane while another one is not Ready, or while etcd has no majority without
// it: etcd can be sick on a Ready node. It does not rely on the states before the first drain: a node that was
// down then must not count as one that may be down. Workers need no majority.
func (r *run) quorum(ctx context.Context, batch []contract.Node) error {
	i := slices.IndexFunc(batch, isPlane)
	if i < 0 {
		return nil
	}
	states, err := r.cluster.States(ctx)
	if err != nil {
		return unanswered(err)
	}
	var down []string
	for _, n := range r.in.Nodes {
		inBatch := slices.ContainsFunc(batch, func(b contract.Node) bool { return b.Name == n.Name })
		if isPlane(n) && !inBatch && !states[n.Name].Ready {
			down = append(down, n.Name)
		}
	}
	if len(down) > 0 {
		return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: down[0], Others: down[1:], Step: "check the control planes", Err: fmt.Errorf(
			"%s is not drained for its packages, because these control planes are not Ready: %s. Repair them; the next run continues",
			batch[i].Name, strings.Join(down, ", "))}
	}
	return r.spares(ctx, batch[i], "check etcd", "is not drained for its packages", "the next run continues")
}

// rebootable checks once more, before the control planes among the nodes boot, that etcd has a majority without
// them: another member may have failed since the drain began.
func (r *run) rebootable(ctx context.Context, nodes []contract.Node) error {
	for _, n := range nodes {
		if !isPlane(n) {
			continue
		}
		if err := r.spares(ctx, n, "reboot", "has its packages, but it was not rebooted", "the next run reboots it"); err != nil {
			return err
		}
	}
	return nil
}

// spares asks etcd on the Ready control planes, the node itself last. what and next complete the message.
func (r *run) spares(ctx context.Context, n contract.Node, step, what, next string) error {
	states, err := r.cluster.States(ctx)
	if err != nil {
		return unanswered(err)
	}
	var planes []contract.Node
	for _, o := range r.in.Nodes {
		if isPlane(o) && o.Name != n.Name && states[o.Name].Ready {
			planes = append(planes, o)
		}
	}
	if err = r.ports.Spares(ctx, r.in, append(planes, n), n); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the check of etcd was interrupted: %w", errors.Join(ctx.Err(), context.Cause(ctx)))
	}
	return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: n.Name, Step: step,
		Err: fmt.Errorf("control plane %s %s: %w. Repair etcd; %s", n.Name, what, err, next)}
}
