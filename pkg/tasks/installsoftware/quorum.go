package installsoftware

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// quorum refuses to drain a control plane while another one is not Ready, because etcd could lose its majority
// with it. It does not rely on the states before the first drain: a node that was down then must not count
// as one that may be down. Workers need no majority.
func (r *run) quorum(ctx context.Context, batch []contract.Node) error {
	isPlane := func(n contract.Node) bool { return slices.Contains(n.Roles, contract.RoleControlPlane) }
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
		if isPlane(n) && !n.Standby && !inBatch && !states[n.Name].Ready {
			down = append(down, n.Name)
		}
	}
	if len(down) == 0 {
		return nil
	}
	return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: down[0], Others: down[1:], Step: "check the control planes", Err: fmt.Errorf(
		"%s is not drained for its packages, because these control planes are not Ready: %s. Repair them; the next run continues",
		batch[i].Name, strings.Join(down, ", "))}
}
