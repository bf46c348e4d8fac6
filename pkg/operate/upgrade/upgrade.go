package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/prepare"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
	kubernetes "github.com/akraino-icn/bpa/pkg/upgrade"
)

// Progress of an upgrade in percent: where the check of the cluster, the snapshot of etcd, the drain,
// the playbook and the last check begin.
const (
	gateFrom, snapshotFrom, evictFrom, upgradeFrom, checkFrom = 2, 6, 8, 30, 92
)

// upgrader upgrades one control plane node or a batch of workers of a cluster.
type upgrader struct {
	in       session.Input // with the nodes of the record, except lost ones
	key      ssh.Key
	ports    session.Ports
	progress *playbook.Progress
	members  *session.ClusterRecord
	c        session.Contact // of the nodes that are upgraded, in their order
	w        *cluster.Client // asks the control planes, those that are not upgraded first
	batch    []contract.Node // those of the request that are not upgraded, in the order of in.Nodes
	dead     []string        // those of the batch that do not work, and that the upgrade is to repair
	// behind are the nodes of the batch on which the playbook runs, and unpatched those whose
	// operating systems are patched. A node may be in both.
	behind, unpatched []contract.Node
	left              cluster.Undrained // nodes of the request that stay as they are until the next run
	noted             noted             // what must be available after the batch
}

// Run upgrades the nodes of the request and returns the recap. No other node is changed, and none
// is reset.
//
// A healthy cluster is the condition before and after the upgrade: kubespray has no check between its
// own batches, and upgrades nodes that are not Ready without draining them. The record has the
// version and the variables of each node, so an attempt that was interrupted is continued by the next
// one: it upgrades the nodes that are left. Nodes that may be cordoned are in Draining. A node that the
// playbook has begun to change has a Target, so that it never counts as one that it does not touch.
//
// A run that is asked to end drains no other node, upgrades those that are drained, and has not failed. One playbook
// upgrades all of them, so it is not interrupted.
func Run(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress) (string, error) {
	progress.Set(0, "Choose the nodes to upgrade")
	u := &upgrader{in: in, key: key, ports: ports, progress: progress}
	if err := u.plan(ctx); err != nil {
		return "", err
	}
	defer u.w.Close()
	if err := u.resume(ctx); err != nil {
		return "", err
	}
	if err := u.changeBatch(ctx); err != nil {
		return "", err
	}
	end := "The cluster is healthy"
	if err := u.checkAfter(ctx); err != nil {
		if !u.yields(ctx) {
			return "", err
		}
		fmt.Fprintf(u.ports.Log, "\n%v. Another change of the cluster comes first\n", err)
		end = "Another change comes first"
	}
	if err := u.complete(ctx); err != nil {
		return "", err
	}
	progress.Set(100, end)
	return u.recap(), u.left.Failure(u.recap())
}

// yields reports whether another change of the cluster comes first, so that this run changes no other node, and does
// not wait until the cluster is healthy: the run for that change finds out.
func (u *upgrader) yields(ctx context.Context) bool { return ctx.Err() == nil && u.w.Ends(ctx) }

// changeBatch checks the cluster and upgrades the batch.
func (u *upgrader) changeBatch(ctx context.Context) error {
	u.progress.Set(gateFrom, "Check the cluster")
	err := u.gateBefore(ctx)
	if err == nil {
		err = u.endBatch(ctx)
	}
	if err != nil {
		if u.yields(ctx) {
			fmt.Fprintf(u.ports.Log, "\n%v. Another change of the cluster comes first\n", err)
			u.leave(cluster.Undrained{Nodes: u.batch, Asked: true})
			return nil
		}
		return err
	}
	if len(u.batch) > 0 {
		return u.run(ctx)
	}
	return nil
}

// checkAfter waits until the cluster and its workloads are as they are to be.
func (u *upgrader) checkAfter(ctx context.Context) error {
	u.progress.Set(checkFrom+4, "Wait for nodes and system pods")
	if err := u.gateAfter(ctx); err != nil {
		return err
	}
	u.progress.Set(checkFrom+6, "Wait for workloads")
	return u.awaitAvailable(ctx)
}

// plan reads the record, and chooses the nodes of the request that are not upgraded yet.
func (u *upgrader) plan(ctx context.Context) (err error) {
	if u.in.Request.Upgrade == nil || len(u.in.Request.Upgrade.Nodes) == 0 {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the request of %s does not say which nodes are upgraded", u.in.Playbook))
	}
	if u.in.Request.Upgrade.DrainSeconds <= 0 {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the request of %s gives no time to drain a node, and nodes are only upgraded without pods", u.in.Playbook))
	}
	if !kubernetes.Version.MatchString(u.in.Request.KubernetesVersion) || !kubernetes.Version.MatchString(u.in.Request.Upgrade.From) {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q and %q must be versions of Kubernetes, such as 1.35.4", u.in.Request.Upgrade.From, u.in.Request.KubernetesVersion))
	}
	if err := u.read(ctx); err != nil {
		return err
	}
	if err := u.readNoted(ctx); err != nil {
		return err
	}
	if err := u.choose(); err != nil {
		return err
	}
	asked := slices.Clone(u.in.Nodes)
	slices.SortStableFunc(asked, func(a, b contract.Node) int { return cmp.Compare(u.rankInBatch(a), u.rankInBatch(b)) })
	access := u.access()
	if u.w, err = cluster.Connect(ctx, u.in.For(asked), access); err != nil {
		return err
	}
	u.w.Ends = u.in.Ends(u.ports)
	u.announce()
	return nil
}

// announce logs what the run does.
func (u *upgrader) announce() {
	if len(u.batch) == 0 {
		fmt.Fprintf(u.ports.Log, "Every node of this run has been %s in an earlier attempt\n", u.verb())
	}
	switch {
	case len(u.behind) > 0 && u.onlyConfigures():
		fmt.Fprintf(u.ports.Log, "These nodes get the requested settings: %s\n", session.JoinNames(u.behind))
	case len(u.behind) > 0:
		fmt.Fprintf(u.ports.Log, "These nodes are upgraded to Kubernetes %s: %s\n", u.in.Request.KubernetesVersion, session.JoinNames(u.behind))
	}
	if len(u.unpatched) > 0 {
		fmt.Fprintf(u.ports.Log, "The operating systems of these nodes are patched: %s\n", session.JoinNames(u.unpatched))
	}
}

// read reads what is known of the hosts, and the record. The nodes of the input are those of the record then,
// without lost ones, in the order of the inventory.
func (u *upgrader) read(ctx context.Context) (err error) {
	if u.c, err = session.Recall(ctx, u.in, u.ports); err != nil {
		return err
	}
	if u.members, err = session.ReadClusterRecord(ctx, u.ports.Installed); err != nil {
		return err
	}
	if err := u.members.Rebuild(ctx, u.before()); err != nil {
		return err
	}
	u.in.Nodes = session.MergeNodes(u.members.Now.Nodes, u.in.Nodes, nil)
	u.in.Request.Members, u.in.Request.EtcdNext = u.members.Now.Nodes, u.members.Now.EtcdNext
	u.in.Nodes, _ = inventory.Members(u.in.Request, u.in.Nodes)
	u.in.Nodes = slices.DeleteFunc(u.in.Nodes, func(n contract.Node) bool { return u.lost(n.Name) })
	return nil
}

// before returns the request with the version before the upgrade, for a record that is rebuilt.
func (u *upgrader) before() contract.Request {
	r := u.in.Request
	r.KubernetesVersion = r.Upgrade.From
	return r
}

func (u *upgrader) access() node.Access {
	return node.Access{Dial: u.ports.Dial, Request: u.in.Request, Key: u.key, Pins: u.c.Pins, Limit: u.in.ConnectLimit}
}

// lost reports whether the host of a node is lost, so that nothing connects to it or waits for it.
func (u *upgrader) lost(name string) bool {
	return slices.Contains(u.in.Request.Kept, name) || slices.Contains(u.in.Request.Lost, name)
}

// rankInBatch returns 1 for a node of the batch and 0 for any other node.
func (u *upgrader) rankInBatch(n contract.Node) int {
	if session.HasName(u.batch, n.Name) {
		return 1
	}
	return 0
}

// choose finds the nodes of the request that are not upgraded yet. A control plane node must be the
// only one of its run: etcd must be able to spare it.
func (u *upgrader) choose() error {
	refuse := func(format string, arguments ...any) error {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf(format, arguments...))
	}
	wanted := u.in.Request.Upgrade.Nodes
	var left []string
	for _, name := range wanted {
		i := slices.IndexFunc(u.in.Nodes, func(n contract.Node) bool { return n.Name == name })
		switch {
		case !session.KubernetesName.MatchString(name):
			return refuse("%q is not the name of a node", name)
		case u.lost(name):
			return refuse("the host of node %s is lost, so the node cannot be upgraded", name)
		case i < 0 || !session.HasName(u.members.Now.Nodes, name):
			return refuse("node %s is not in the cluster, so it cannot be upgraded", name)
		case session.RoleRank(u.in.Nodes[i]) == 0 && len(wanted) > 1:
			return refuse("control plane node %s is to be upgraded together with other nodes, but control plane nodes are upgraded one at a time", name)
		case !u.upgraded(name):
			left = append(left, name)
		}
	}
	u.batch = u.in.NodesNamed(left)
	for _, n := range u.batch {
		if !u.atLevel(n.Name) {
			u.behind = append(u.behind, n)
		}
		if !u.atPatch(n.Name) {
			u.unpatched = append(u.unpatched, n)
		}
	}
	return nil
}

// resume uncordons the nodes that an earlier run has left cordoned, and that this run does not
// upgrade. A node that is not Ready stays cordoned: it has failed, and a user repairs it.
func (u *upgrader) resume(ctx context.Context) error {
	names := session.Without(u.members.Now.Draining, slices.Concat(u.members.Now.Leaving, session.Names(u.batch)))
	if len(names) == 0 {
		return nil
	}
	ready, err := u.w.Registered(ctx)
	if err != nil {
		return cluster.Unanswered("find the nodes that an earlier run has cordoned", err)
	}
	return cluster.Uncordon(ctx, u.w, u.members, slices.DeleteFunc(names, func(name string) bool {
		isReady, there := ready[name]
		return there && !isReady
	}), u.ports)
}

// run upgrades the nodes of the batch. Until the playbook begins, an error leaves all nodes as they
// were.
func (u *upgrader) run(ctx context.Context) error {
	if err := u.meet(ctx); err != nil {
		return err
	}
	if err := u.checkPatchable(ctx); err != nil {
		return err
	}
	u.progress.Set(snapshotFrom, "Check etcd")
	save, err := u.secureEtcd(ctx)
	if err != nil {
		return err
	}
	if err := prepare.Nodes(ctx, u.in.For(u.batch), u.key, u.c, u.ports); err != nil {
		return err
	}
	u.progress.Set(evictFrom, "Drain the nodes")
	if err := u.note(ctx); err != nil {
		return err
	}
	if err := u.drain(ctx); err != nil || len(u.batch) == 0 {
		return err
	}
	if err := save(ctx); err != nil {
		u.release(ctx)
		return err
	}
	err = u.change(ctx)
	if err != nil && ctx.Err() != nil { // the run was cancelled, or its time is over
		u.release(ctx)
	}
	return err
}

// drain drains the nodes of the batch. Those that keep their pods are not in it any more.
func (u *upgrader) drain(ctx context.Context) error {
	left, err := u.drainer().Drain(ctx, u.batch)
	if err != nil {
		return err
	}
	if len(left.Nodes) == len(u.batch) && left.Why != nil {
		return left.Why
	}
	u.leave(left)
	return nil
}

// leave takes these nodes out of the batch.
func (u *upgrader) leave(left cluster.Undrained) {
	u.left = left
	keep := func(nodes []contract.Node) []contract.Node {
		return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return session.HasName(u.left.Nodes, n.Name) })
	}
	u.batch, u.behind, u.unpatched = keep(u.batch), keep(u.behind), keep(u.unpatched)
}

// change runs the playbook, patches the operating systems, and waits for the nodes.
func (u *upgrader) change(ctx context.Context) error {
	if err := u.play(ctx); err != nil {
		return u.failed(ctx, err)
	}
	patched, err := u.patch(ctx)
	u.progress.Set(checkFrom, "Wait for the "+u.verb()+" nodes")
	if err != nil {
		if late := u.settle(ctx, patched); late != nil {
			fmt.Fprintf(u.ports.Log, "  %v; the next attempt continues\n", late)
		}
		return u.failed(ctx, err)
	}
	return u.await(ctx)
}

// meet connects to the machines of the batch and to the first control plane, where kubespray works by
// delegation. It changes no machine.
func (u *upgrader) meet(ctx context.Context) error {
	u.progress.Set(snapshotFrom-1, "Connect to the nodes")
	c, err := session.Preflight(ctx, u.in.For(u.limited().ContactedNodes()), u.key, u.ports)
	if err != nil {
		return err
	}
	c.Nodes, c.Visits = c.Nodes[:len(u.batch)], c.Visits[:len(u.batch)] // these are the first ones of contacted()
	u.c, u.w.Access.Pins = c, c.Pins
	return c.Record.Set(ctx, contract.HostUsed, session.HostUIDs(u.batch)...)
}
