package kubespray

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// limited limits contract.PlaybookScale to the new nodes, so that the run does not contact the other
// workers. in.limit of the result is empty if no node is new. Other playbooks are not limited.
func limited(ctx context.Context, in Input, c contact, ports Ports) (Input, error) {
	if in.Playbook != contract.PlaybookScale {
		return in, nil
	}
	members, err := readInstalled(ctx, ports.Installed)
	if err != nil {
		return in, err
	}
	joined, err := readJoined(ctx, in, ports.Installed, members)
	if err != nil {
		return in, err
	}
	var stay []contract.Node
	for _, n := range in.Nodes {
		switch {
		case c.hasJoined(in, n, joined):
			stay = append(stay, n)
		case slices.Contains(n.Roles, contract.RoleControlPlane):
			return in, task.Because(contract.ReasonInvalidRequest,
				fmt.Errorf("node %s is a control plane that is not installed, but %s adds only workers", n.Name, in.Playbook))
		case !kubernetesName.MatchString(n.Name):
			return in, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", n.Name))
		default:
			in.limit = append(in.limit, n.Name)
		}
	}
	if len(in.limit) > 0 && len(stay) > 0 {
		fmt.Fprintf(ports.Log, "New nodes: %s. These nodes stay as they are: %s\n", strings.Join(in.limit, ", "), names(stay))
	}
	return in, nil
}

// startAnew clears contract.KeyComplete and the record of the cluster if all machines of an installation are empty, for example
// because a user has reset them. It does nothing in a run that changes a cluster, in which only the
// new machines are visited. There is no cluster that they could protect, and the leftovers
// of this installation must be reset if it fails.
func (c contact) startAnew(ctx context.Context, in Input, ports Ports) error {
	if in.Playbook == contract.PlaybookScale || contract.OperationOf(in.Request.Operation).ChangesCluster() || slices.ContainsFunc(c.visits, func(v visit) bool { return !v.report.Clean() }) {
		return nil
	}
	complete, err := readComplete(ctx, ports.Installed)
	if err != nil || !complete {
		return err
	}
	fmt.Fprintln(ports.Log, "The cluster was complete once, but all machines are empty now. It is installed anew")
	if err := ports.Installed.Set(ctx, contract.KeyInstalled, ""); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return storeComplete(ctx, ports.Installed, false)
}
