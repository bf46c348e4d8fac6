package kubespray

import (
	"context"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// readComplete reports whether an earlier run has found the cluster complete and healthy. The
// controller sets Request.Complete only after a whole run has succeeded. Without contract.KeyComplete,
// a run that failed after the health check would leave a cluster that the next run takes for an
// unfinished one, and resets while its control plane boots.
func readComplete(ctx context.Context, store Store) (bool, error) {
	text, err := store.Get(ctx, contract.KeyComplete)
	if err != nil {
		return false, task.Because(kube.Reason(err), err)
	}
	return text == "true", nil
}

func storeComplete(ctx context.Context, store Store, complete bool) error {
	text := ""
	if complete {
		text = "true"
	}
	if err := store.Set(ctx, contract.KeyComplete, text); err != nil {
		return task.Because(kube.Reason(err), err)
	}
	return nil
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
