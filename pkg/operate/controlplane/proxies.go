package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// UpdateProxies updates the proxies of the API servers on the workers, because their targets are the
// control planes. The kubelet restarts a proxy whose configuration has changed. The workers follow
// in two parts, so that never all proxies restart at the same time. A worker that is not Ready is left
// out: otherwise a dead one would keep the change of the control planes from its end.
func UpdateProxies(ctx context.Context, in session.Input, access node.Access, ports session.Ports, report func(percent int, step string)) error {
	if tag, err := ProxyTag(in.GroupVars); err != nil || tag == "" {
		return err
	}
	workers, err := readyWorkers(ctx, in, access, ports)
	if err != nil {
		return err
	}
	return UpdateProxiesOf(ctx, in, access, ports, workers, report)
}

// UpdateProxiesOf is UpdateProxies for these workers.
func UpdateProxiesOf(ctx context.Context, in session.Input, access node.Access, ports session.Ports, workers []string, report func(percent int, step string)) error {
	tag, err := ProxyTag(in.GroupVars)
	if err != nil || tag == "" {
		return err
	}
	half := (len(workers) + 1) / 2
	for part := range slices.Chunk(workers, max(half, 1)) {
		run := in
		run.Playbook, run.Limit, run.Fresh, run.Tags, run.Alone = contract.PlaybookInstall, part, nil, tag, true
		if i := slices.IndexFunc(part, func(name string) bool { return !session.KubernetesName.MatchString(name) }); i >= 0 {
			return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", part[i]))
		}
		fmt.Fprintf(ports.Log, "\nThe proxies on these workers get the new addresses of the control planes: %s\n", strings.Join(part, ", "))
		counted := play.CountTasks(run)
		files, err := play.Prepare(run, access.Pins)
		if err != nil {
			return task.Because(contract.ReasonInternal, err)
		}
		from := 100 * slices.Index(workers, part[0]) / len(workers)
		share := 100 * len(part) / len(workers)
		if _, err := play.Run(ctx, run, files, ports, func(percent int, step string) { report(from+percent*share/100, "Update the proxies: "+step) }, counted); err != nil {
			return err
		}
	}
	return nil
}

// readyWorkers returns the names of the workers that are Ready, and names the others in the log.
func readyWorkers(ctx context.Context, in session.Input, access node.Access, ports session.Ports) ([]string, error) {
	workers := session.Without(session.Names(in.Nodes), session.Names(node.ControlPlanes(in.Nodes)))
	if len(workers) == 0 {
		return nil, nil
	}
	w := &cluster.Client{Input: in, Access: access}
	defer w.Close()
	ready, err := w.Registered(ctx)
	if err != nil {
		return nil, cluster.Unanswered("find the workers that are Ready", err)
	}
	return slices.DeleteFunc(workers, func(name string) bool {
		if !ready[name] {
			fmt.Fprintf(ports.Log, "Worker %s is not Ready, so its proxy is not updated. It skips control planes that do not answer, "+
				"and gets the new addresses when a control plane is added or removed the next time\n", name)
		}
		return !ready[name]
	}), nil
}

// ProxyTag returns kubespray's tag for the tasks of the proxy on each worker; empty: there is no
// such proxy. By default, kubespray installs nginx unless the site has a load balancer.
func ProxyTag(groupVars []byte) (string, error) {
	var vars map[string]any
	if err := json.Unmarshal(groupVars, &vars); err != nil {
		return "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("group variables: %w", err))
	}
	_, balanced := vars["loadbalancer_apiserver"]
	switch on := vars["loadbalancer_apiserver_localhost"].(type) {
	case nil:
		if balanced {
			return "", nil
		}
	case bool:
		if !on {
			return "", nil
		}
	case string:
		if slices.Contains([]string{"false", "no", "off", "n", "f", "0"}, strings.ToLower(on)) {
			return "", nil
		}
	}
	if vars["loadbalancer_apiserver_type"] == "haproxy" {
		return "haproxy", nil
	}
	return "nginx", nil
}
