package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Core implements podstart.Cluster.
func (w *Client) Core(ctx context.Context, do func(context.Context, typedcorev1.CoreV1Interface) error) error {
	return w.Do(ctx, func(ctx context.Context, kube kubernetes.Interface) error { return do(ctx, kube.CoreV1()) })
}

// Root implements podstart.Cluster.
func (w *Client) Root(ctx context.Context, command string) ([]byte, error) {
	return w.on(ctx, func(ctx context.Context) ([]byte, error) {
		return w.conn.Output(ctx, node.AsRoot(w.Input.Request, command), MaxObjects)
	})
}

// Podless returns by name why these nodes start no pod. They must be Ready: with a pod network that the user still
// has to install, no node can start one.
func (w *Client) Podless(ctx context.Context, nodes []string, ports session.Ports) (map[string]string, error) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return !session.KubernetesName.MatchString(name) })
	if needsNetwork(w.Input.Request.NetworkPlugin) || len(nodes) == 0 {
		return nil, nil
	}
	return ports.StartPods(ctx, w, nodes, w.Input.PollInterval(), min(podstart.Limit, w.Input.HealthLimit), ports.Log)
}

// StartPods proves that these nodes start pods. If one does not, the error has the reason
// contract.ReasonClusterUnhealthy.
func (w *Client) StartPods(ctx context.Context, nodes []string, ports session.Ports) error {
	failed, err := w.Podless(ctx, nodes, ports)
	if stop := session.Stopped(ctx, "the start of a pod on each node"); stop != nil {
		return stop
	}
	switch {
	case err != nil:
		return &task.Error{Reason: contract.ReasonClusterUnhealthy, Step: "start a pod on each node", Err: fmt.Errorf("it is not known whether the nodes start pods: %w", err)}
	case len(failed) == 0:
		return nil
	}
	names := slices.Sorted(maps.Keys(failed))
	return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: names[0], Others: names[1:], Step: "start a pod on each node",
		Err: fmt.Errorf("node %s is Ready, but starts no pod: %s", names[0], failed[names[0]])}
}
