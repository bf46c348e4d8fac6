package join

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// limited limits contract.PlaybookScale to the new nodes, so that the run does not contact the other
// workers. in.limit of the result is empty if no node is new. Other playbooks are not limited.
func limited(ctx context.Context, in session.Input, c session.Contact, ports session.Ports) (session.Input, error) {
	if in.Playbook != contract.PlaybookScale {
		return in, nil
	}
	members, err := session.ReadClusterRecord(ctx, ports.Installed)
	if err != nil {
		return in, err
	}
	joined, err := session.ReadJoined(ctx, in, ports.Installed, members)
	if err != nil {
		return in, err
	}
	var stay []contract.Node
	for _, n := range in.Nodes {
		switch {
		case c.HasJoined(in, n, joined):
			stay = append(stay, n)
		case slices.Contains(n.Roles, contract.RoleControlPlane):
			return in, task.Because(contract.ReasonInvalidRequest,
				fmt.Errorf("node %s is a control plane that is not installed, but %s adds only workers", n.Name, in.Playbook))
		case !session.KubernetesName.MatchString(n.Name):
			return in, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", n.Name))
		default:
			in.Limit = append(in.Limit, n.Name)
		}
	}
	if len(in.Limit) > 0 && len(stay) > 0 {
		fmt.Fprintf(ports.Log, "New nodes: %s. These nodes stay as they are: %s\n", strings.Join(in.Limit, ", "), session.JoinNames(stay))
	}
	return in, nil
}

// startAnew clears contract.KeyComplete and the record of the cluster if all machines of an installation are empty, for example
// because a user has reset them. It does nothing in a run that changes a cluster, in which only the
// new machines are visited. There is no cluster that they could protect, and the leftovers
// of this installation must be reset if it fails.
func startAnew(ctx context.Context, c session.Contact, in session.Input, ports session.Ports) error {
	if in.Playbook == contract.PlaybookScale || contract.OperationOf(in.Request.Operation).ChangesCluster() || slices.ContainsFunc(c.Visits, func(v session.Visit) bool { return !v.Report.Clean() }) {
		return nil
	}
	complete, err := session.ReadComplete(ctx, ports.Installed)
	if err != nil || !complete {
		return err
	}
	fmt.Fprintln(ports.Log, "The cluster was complete once, but all machines are empty now. It is installed anew")
	if err := ports.Installed.Set(ctx, contract.KeyInstalled, ""); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return session.StoreComplete(ctx, ports.Installed, false)
}
