package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// proxyScript ends the proxy of the API servers on a worker, which listens on this port of the loopback
// interface. The kubelet then starts it with its new configuration.
const proxyScript = `set -eu
for pid in $(ss -ltnpH "sport = :%[1]d" | grep -oE "\(\"(nginx|haproxy)\",pid=[0-9]+" | grep -oE "[0-9]+$" | sort -u); do kill "$pid" 2>/dev/null || true; done
`

// connect connects the workers to the new control planes and starts the controller managers and the
// schedulers. If it fails for one worker, the others must not be left without them. They start last:
// otherwise they would take the workers for lost after 50 s, and evict their pods.
func (r *restoration) connect(ctx context.Context) error {
	failed := r.connectWorkers(ctx)
	if err := session.Stopped(ctx, "the restore"); err != nil {
		return err
	}
	if failed = errors.Join(failed, r.startControllers(ctx)); failed != nil {
		return failed
	}
	return r.renewPods(ctx)
}

// connectWorkers lets the workers use the new control planes, starts their kubelets again, and waits for a
// sign of life of each node.
//
// The kubelets are off while the proxies change: a kubelet that has started without an API server does not
// end the pod of the former proxy, which keeps the port, so that it never reaches an API server.
func (r *restoration) connectWorkers(ctx context.Context) error {
	report := r.part(restoreProxiesFrom, 96)
	report(0, "Connect the workers")
	if r.seen == nil { // an earlier attempt has started the API servers
		if err := r.restartKubelets(ctx, restartKubelet); err != nil {
			return err
		}
	}
	answering := r.workers(ctx, "systemctl stop kubelet")
	r.in.Silent = session.Without(session.Without(session.Names(r.in.Nodes), session.Names(r.planes)), answering)
	failed := controlplane.UpdateProxiesOf(ctx, r.in, r.access(), r.ports, answering, report)
	start := "systemctl start kubelet"
	if tag, err := controlplane.ProxyTag(r.in.GroupVars); err == nil && tag != "" {
		start = fmt.Sprintf(proxyScript, node.APIPort(r.in.GroupVars)) + start
	}
	r.workers(ctx, start)
	if failed != nil {
		return failed
	}
	r.progress.Set(96, "Wait for the kubelets")
	return r.awaitSigns(ctx, slices.Concat(session.Names(r.planes), answering))
}

// workers runs a script on the workers and returns the names of those that answer. Their kubelets are
// stopped while the new cluster is empty, because a kubelet would delete the pods of its node. The pods run
// on without it. A worker that does not answer is left out.
func (r *restoration) workers(ctx context.Context, script string) (answering []string) {
	all := slices.DeleteFunc(slices.Clone(r.in.Nodes), func(n contract.Node) bool { return session.HasHost(r.planes, n) })
	errs := make([]error, len(all))
	session.Each(len(all), func(i int) {
		limited, cancel := context.WithTimeout(ctx, r.in.HealthLimit)
		defer cancel()
		errs[i] = session.OnMachine(limited, r.in, all[i], r.key, r.c.Pins.Of(all[i].HostUID), r.ports, func(ctx context.Context, sh machine.Shell) error {
			_, err := sh(ctx, script)
			return err
		})
	})
	for i, n := range all {
		if errs[i] != nil {
			fmt.Fprintf(r.ports.Log, "  %-16s its kubelet cannot be controlled: %v\n", n.Name, errs[i])
			continue
		}
		answering = append(answering, n.Name)
	}
	return answering
}
