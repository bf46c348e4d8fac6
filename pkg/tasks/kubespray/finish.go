package kubespray

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
)

// finish removes lost nodes, waits for a healthy cluster and records what it consists of. In a cluster that
// exists, the nodes of the run and what it has changed at etcd decide what is recorded. The other nodes are
// waited for after that.
func finish(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports, progress *playbook.Progress) error {
	progress.Set(99, "Wait for nodes and system pods")
	members, err := session.ReadClusterRecord(ctx, ports.Installed)
	if err != nil {
		return err
	}
	// again after a playbook: a lost node that was still Ready before it may be NotReady now. If a new
	// node has its name, it has joined
	lost := in
	lost.Request.Lost = session.Without(in.Request.Gone(), session.Names(in.Nodes))
	forget(ctx, lost, key, pins, ports, true)
	if err := endDrains(ctx, in, key, pins, ports, members); err != nil {
		return err
	}
	awaited := slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool { return slices.Contains(in.Silent, n.Name) })
	w, err := newWatch(ctx, in.For(awaited), node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		return err
	}
	defer w.close()
	own, beside := session.Names(in.Concerned(awaited, members)), in.ChangesPart(members)
	err = w.gate(ctx, ports, func(t trouble) bool { return beside && (t.unplaced || t.node != "" && !slices.Contains(own, t.node)) })
	if err != nil {
		return err
	}
	if err := w.startPods(ctx, own, ports); err != nil {
		return err
	}
	members.SettingsAfter = in.SettingsAfter
	if err := session.StoreComplete(ctx, ports.Installed, true); err != nil {
		return err
	}
	if err := members.Complete(ctx, in.Request, in.Nodes); err != nil {
		return err
	}
	if beside {
		if err := w.gateOthers(ctx, ports); err != nil {
			return err
		}
	}
	progress.Set(100, "The cluster is healthy")
	return nil
}

// gateOthers waits until the nodes that the run does not concern and all system pods are Ready, except the nodes
// that were sick before the run.
func (w *watch) gateOthers(ctx context.Context, ports session.Ports) error {
	sick := w.in.Sick
	if len(sick) > 0 {
		fmt.Fprintf(ports.Log, "These nodes were not Ready before the run, which does not concern them: %s\n", strings.Join(sick, ", "))
	}
	return w.gate(ctx, ports, func(t trouble) bool { return len(sick) > 0 && t.unplaced || slices.Contains(sick, t.node) })
}

// gate waits until the nodes of the watch and the system pods are Ready, except the ignored problems.
func (w *watch) gate(ctx context.Context, ports session.Ports, ignore func(trouble) bool) error {
	ctx, cancel := context.WithTimeout(ctx, w.in.HealthLimit)
	defer cancel()
	if bad, healthy := w.awaitHealthy(ctx, ports.Log, ignore); !healthy {
		return unhealthy(ctx, w.in, bad)
	}
	return nil
}

// withSick returns the input with the names of those nodes of the cluster that are not Ready before the run, and
// that it does not concern. If no API server answers, none is known.
func withSick(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports) (session.Input, error) {
	members, err := session.ReadClusterRecord(ctx, ports.Installed)
	if err != nil || !in.ChangesPart(members) {
		return in, err
	}
	stay := slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool {
		return session.HasName(in.Concerned(in.Nodes, members), n.Name) && session.RoleRank(n) != 0
	})
	w, err := newWatch(ctx, in.For(stay), node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		return in, nil
	}
	defer w.close()
	if ready, err := w.registered(ctx); err == nil {
		in.Sick = in.SickIn(ready, members)
	}
	return in, nil
}
