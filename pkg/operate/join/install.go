package join

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/prepare"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Install connects to the nodes, runs the playbook and waits for a healthy cluster. It returns the
// recap of the playbook.
func Install(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress) (string, error) {
	known, err := session.Recall(ctx, in, ports)
	if err != nil {
		return "", err
	}
	complete, err := session.ReadComplete(ctx, ports.Installed)
	if err != nil {
		return "", err
	}
	in.Request.Complete = in.Request.Complete || complete
	if in, err = cluster.WithSick(ctx, in, key, known.Pins, ports); err != nil {
		return "", err
	}
	if in.Played == digest(in) && wasInstalled(known, in) {
		fmt.Fprintf(ports.Log, "An earlier run of %s succeeded with the same inventory, so it does not run again\n", in.Playbook)
		return "the playbook succeeded in an earlier run", cluster.Finish(ctx, in, key, known.Pins, ports, progress)
	}
	in, err = limited(ctx, in, known, ports)
	if err != nil {
		return "", err
	}
	if in.Playbook == contract.PlaybookScale && len(in.Limit) == 0 {
		fmt.Fprintf(ports.Log, "Every node is installed already, so %s does not run\n", in.Playbook)
		return "no node is new", cluster.Finish(ctx, in, key, known.Pins, ports, progress)
	}
	unchanged := func(context.Context, session.Contact) error { return nil }
	recap, pins, err := change(ctx, in, key, ports, progress, unchanged, progress.Set)
	if err != nil {
		return "", err
	}
	return recap, cluster.Finish(ctx, in, key, pins, ports, progress)
}

// change runs the playbook on the nodes to which it is limited, and before that everything that
// these nodes need. It calls before when the machines of new nodes have no leftovers any more, and
// report with the progress of the playbook. It returns the recap of the playbook and the pinned host
// keys.
func change(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress,
	before func(context.Context, session.Contact) error, report func(percent int, step string)) (string, ssh.Pins, error) {
	counted := play.CountTasks(in)
	progress.Set(0, "Connect to the nodes")
	c, err := session.Preflight(ctx, in.For(in.ContactedNodes()), key, ports)
	if err != nil {
		return "", nil, err
	}
	changed := in.For(in.ChangedNodes()) // these are the first ones of in.contacted(), and then those of in.limited()
	present, n := c, len(changed.Nodes)
	present.Nodes, present.Visits = c.Nodes[n:len(in.PlaybookNodes())], c.Visits[n:len(in.PlaybookNodes())]
	c.Nodes, c.Visits = c.Nodes[:n], c.Visits[:n]
	if err := startAnew(ctx, c, in, ports); err != nil {
		return "", nil, err
	}
	if err := c.Record.Set(ctx, contract.HostUsed, session.HostUIDs(changed.Nodes)...); err != nil {
		return "", nil, err
	}
	if in.Fresh == nil { // see addition.forget
		if err := removeFormer(ctx, c, in, key, ports); err != nil {
			return "", nil, err
		}
		cluster.Forget(ctx, in, key, c.Pins, ports, false)
	}
	if err := resetLeftovers(ctx, in, key, c, ports, progress); err != nil {
		return "", nil, err
	}
	if err := before(ctx, c); err != nil {
		return "", nil, err
	}
	if err := errors.Join(prepare.Nodes(ctx, changed, key, c, ports), prepare.Present(ctx, in, key, present, ports)); err != nil {
		return "", nil, err
	}
	if err := controlplane.FillEtcdClients(ctx, in, key, c.Pins, ports); err != nil {
		return "", nil, err
	}
	giveSoftware(ctx, in, changed.Nodes, c.Pins, ports, progress)
	files, err := play.Prepare(in, c.Pins)
	if err != nil {
		return "", nil, task.Because(contract.ReasonInternal, err)
	}
	endPrefetch := play.Prefetch(ctx, in, c.Pins, ports)
	recap, err := play.Run(ctx, in, files, ports, report, counted)
	endPrefetch()
	if err != nil {
		return "", nil, err
	}
	if err := controlplane.RemoveEtcdClients(ctx, in, key, c.Pins, in.PlaybookNodes(), ports); err != nil {
		return "", nil, err
	}
	return recap, c.Pins, session.StoreJoined(ctx, ports.Installed, session.HostUIDs(in.Nodes))
}

// digest returns the digest of the inventory, as the task render-inventory does.
func digest(in session.Input) string {
	return inventory.Inventory{HostsINI: in.HostsINI, GroupVars: in.GroupVars}.Digest()
}

// wasInstalled reports whether the playbook can have run on the machines of all nodes: their host keys
// are pinned, and no host was reset since. The digest of the inventory does not say this, because a
// new host can have the address of the old one.
func wasInstalled(c session.Contact, in session.Input) bool {
	return !slices.ContainsFunc(in.Nodes, func(n contract.Node) bool {
		return c.Pins.Of(n.HostUID) == nil || c.States[n.HostUID] != contract.HostUsed
	})
}
