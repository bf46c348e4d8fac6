package installsoftware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// StartPods starts a pod on each of these nodes, through the first control plane that answers, as the
// administrator of the cluster: the user of this task may not create pods.
func StartPods(ctx context.Context, in Input, dial node.Dial, knownHosts playbook.Store, nodes []string, log io.Writer) (map[string]string, error) {
	access, err := accessTo(ctx, in, dial, knownHosts)
	if err != nil {
		return nil, err
	}
	conn, at, err := access.FirstControlPlane(ctx, living(in))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	server := node.OwnServer(at, slices.Concat(in.Nodes, in.Request.Members), in.GroupVars)
	kube, err := appcluster.Through(ctx, conn, in.Request, at, server, in.CallLimit)
	if err != nil {
		return nil, err
	}
	cluster := podstart.OverSSH{Conn: conn, Request: in.Request, API: kube.CoreV1(), Limit: in.CallLimit}
	return podstart.Check(ctx, cluster, nodes, time.Second, min(podstart.Limit, in.ReadyLimit), log)
}

// living returns the nodes whose hosts are not lost.
func living(in Input) []contract.Node {
	return slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool { return n.Standby || slices.Contains(in.Request.Lost, n.Name) })
}

// startPods proves that nodes which have booted again start pods.
func (r *run) startPods(ctx context.Context, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	failed, err := r.ports.StartPods(ctx, r.in, nodes, r.ports.Log)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the start of a pod on each node was interrupted: %w", errors.Join(ctx.Err(), context.Cause(ctx)))
	case err != nil:
		return &task.Error{Reason: contract.ReasonClusterUnhealthy, Step: "start a pod on each node", Err: fmt.Errorf(
			"it is not known whether the nodes start pods after the reboot: %w. No other node was drained", err)}
	case len(failed) == 0:
		return nil
	}
	names := slices.Sorted(maps.Keys(failed))
	return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: names[0], Others: names[1:], Step: "start a pod on each node", Err: fmt.Errorf(
		"node %s is Ready after the reboot, but starts no pod: %s. No other node was drained. Repair it; the next run continues", names[0], failed[names[0]])}
}
