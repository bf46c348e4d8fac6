package cluster

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

// Finish removes lost nodes, waits for a healthy cluster and records what it consists of. In a cluster that
// exists, the nodes of the run and what it has changed at etcd decide what is recorded. The other nodes are
// waited for after that, unless the run is asked to end: then the next run finds out how they are.
func Finish(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports, progress *playbook.Progress) error {
	progress.Set(99, "Wait for nodes and system pods")
	members, err := session.ReadClusterRecord(ctx, ports.Installed)
	if err != nil {
		return err
	}
	// again after a playbook: a lost node that was still Ready before it may be NotReady now. If a new
	// node has its name, it has joined
	lost := in
	lost.Request.Lost = session.Without(in.Request.Gone(), session.Names(in.Nodes))
	Forget(ctx, lost, key, pins, ports, true)
	if err := endDrains(ctx, in, key, pins, ports, members); err != nil {
		return err
	}
	awaited := slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool { return slices.Contains(in.Silent, n.Name) })
	w, err := Connect(ctx, in.For(awaited), node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		return err
	}
	defer w.Close()
	own, beside := session.Names(in.Concerned(awaited, members)), in.ChangesPart(members)
	err = w.gate(ctx, ports, func(t Problem) bool { return beside && (t.Unplaced || t.Node != "" && !slices.Contains(own, t.Node)) })
	if err != nil {
		return err
	}
	if err := w.StartPods(ctx, own, ports); err != nil {
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
		w.Ends = in.Ends(ports)
		if err := w.gateOthers(ctx, ports); err != nil {
			if ctx.Err() != nil || !w.ends(ctx) {
				return err
			}
			fmt.Fprintf(ports.Log, "\n%v. Another change of the cluster comes first\n", err)
			progress.Set(100, "Another change comes first")
			return nil
		}
	}
	progress.Set(100, "The cluster is healthy")
	return nil
}

// gateOthers waits until the nodes that the run does not concern and all system pods are Ready, except the nodes
// that were sick before the run.
func (w *Client) gateOthers(ctx context.Context, ports session.Ports) error {
	sick := w.Input.Sick
	if len(sick) > 0 {
		fmt.Fprintf(ports.Log, "These nodes were not Ready before the run, which does not concern them: %s\n", strings.Join(sick, ", "))
	}
	return w.gate(ctx, ports, func(t Problem) bool { return len(sick) > 0 && t.Unplaced || slices.Contains(sick, t.Node) })
}

// gate waits until the nodes of the watch and the system pods are Ready, except the ignored problems.
func (w *Client) gate(ctx context.Context, ports session.Ports, ignore func(Problem) bool) error {
	ctx, cancel := context.WithTimeout(ctx, w.Input.HealthLimit)
	defer cancel()
	if bad, healthy := w.AwaitHealthy(ctx, ports.Log, ignore); !healthy {
		return unhealthy(ctx, w.Input, bad)
	}
	return nil
}

// WithSick returns the input with the names of those nodes of the cluster that are not Ready before the run, and
// that it does not concern. If no API server answers, none is known.
func WithSick(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports) (session.Input, error) {
	members, err := session.ReadClusterRecord(ctx, ports.Installed)
	if err != nil || !in.ChangesPart(members) {
		return in, err
	}
	stay := slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool {
		return session.HasName(in.Concerned(in.Nodes, members), n.Name) && session.RoleRank(n) != 0
	})
	w, err := Connect(ctx, in.For(stay), node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		return in, nil
	}
	defer w.Close()
	if ready, err := w.Registered(ctx); err == nil {
		in.Sick = in.SickIn(ready, members)
	}
	return in, nil
}
