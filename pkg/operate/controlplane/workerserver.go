package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// serverOfWorkers are the arguments of kubectl that print the kubeconfig of kube-proxy, and of joining
// nodes if the cluster has no kube-proxy. Without a proxy on the workers, their kubelets use the same
// API server.
var serverOfWorkers = []string{
	`get configmap kube-proxy --namespace kube-system --ignore-not-found --output jsonpath="{.data.kubeconfig\.conf}"`,
	`get configmap cluster-info --namespace kube-public --ignore-not-found --output jsonpath="{.data.kubeconfig}"`,
}

// CheckServer returns an error if one of the control planes that leave has the API server that all
// workers use. This is so in a cluster with neither a proxy on each worker nor a load balancer. Nobody
// would point the workers to another one, so all of them would be cut off.
func CheckServer(ctx context.Context, w *cluster.Client, in session.Input, leave []contract.Node) error {
	workers := session.Without(session.Names(in.Nodes), session.Names(node.ControlPlanes(in.Nodes)))
	if direct, err := direct(in.GroupVars); err != nil || !direct || len(leave)*len(workers) == 0 {
		return err
	}
	for _, arguments := range serverOfWorkers {
		config, err := w.Ask(ctx, arguments, 64<<10)
		if err != nil {
			return cluster.Unanswered("find the API server of the workers", err)
		}
		m := serverInConfig.FindSubmatch(config)
		if m == nil {
			continue
		}
		at := func(n contract.Node) bool { return etcd.AtAddress(string(m[1]), []string{n.Address, n.Address6}) }
		if i := slices.IndexFunc(leave, at); i >= 0 && !slices.ContainsFunc(in.Nodes, at) {
			return cutOff(leave[i])
		}
		return nil
	}
	return nil
}

func cutOff(n contract.Node) error {
	return &task.Error{Reason: contract.ReasonInvalidRequest, Host: n.Name, Step: "find the API server of the workers",
		Err: fmt.Errorf("control plane %s cannot leave: the cluster has neither a proxy on its workers nor a load balancer, and all workers use the API server of %s, "+
			"so they would be cut off. No control plane was changed. On each worker, correct the server in /etc/kubernetes/kubelet.conf and restart the kubelet. "+
			"Then correct the server in ConfigMap kube-system/kube-proxy, run kubectl -n kube-system rollout restart daemonset kube-proxy, and try again "+
			"(docs/kubespray.md, Control plane nodes)", n.Name, n.Name)}
}

// direct reports whether workers use the API server of a control plane without a proxy and without
// the site's load balancer.
func direct(groupVars []byte) (bool, error) {
	tag, err := ProxyTag(groupVars)
	if err != nil || tag != "" {
		return false, err
	}
	var vars map[string]any
	if err := json.Unmarshal(groupVars, &vars); err != nil {
		return false, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("group variables: %w", err))
	}
	_, balanced := vars["loadbalancer_apiserver"]
	return !balanced, nil
}
