package remove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/reset"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/shrink"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Progress of a removal in percent: where the drain, the playbook and the reset of the machines
// begin, and how much of the run they are.
const (
	drainFrom, drainShare       = 3, 37
	playbookFrom, playbookShare = 40, 40
	resetFrom, resetShare       = 80, 15
)

// remover removes nodes from a cluster that stays.
type remover struct {
	in       session.Input // with the nodes of the record, and those nodes of the run that are not in it
	key      ssh.Key
	ports    session.Ports
	progress *playbook.Progress
	members  *session.ClusterRecord
	w        *cluster.Client   // asks the control planes that stay
	ready    map[string]bool   // the registered nodes at the start, and whether they are Ready
	leave    []contract.Node   // in this order
	left     cluster.Undrained // nodes of the request that stay until the next run
	c        session.Contact   // with the visits of the machines of leave
	absent   []reset.Absence   // machines that are left out of the reset
}

// Run removes nodes from the cluster and resets their machines. It returns the recap.
//
// The record has the state of the removal: nodes that may be cordoned are in Draining, and nodes
// that are drained are in Leaving. Each step can be repeated. An attempt that was interrupted is
// continued by the next one: nodes in Draining that do not leave any more are uncordoned, and nodes
// in Leaving are removed without another drain, whatever the request says.
//
// A run that is asked to end drains no other node, removes those that are drained, and has not failed. One playbook
// removes all of them, so it is not interrupted.
func Run(ctx context.Context, in session.Input, key ssh.Key, ports session.Ports, progress *playbook.Progress) (string, error) {
	if in.Request.Remove == nil {
		return "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the request of %s does not say which nodes leave", in.Playbook))
	}
	progress.Set(0, "Choose the nodes to remove")
	known, err := session.Recall(ctx, in, ports)
	if err != nil {
		return "", err
	}
	members, err := session.ReadClusterRecord(ctx, ports.Installed)
	if err != nil {
		return "", err
	}
	if err := members.Rebuild(ctx, in.Request); err != nil {
		return "", err
	}
	r := &remover{in: in, key: key, ports: ports, progress: progress, members: members, c: known}
	r.in.Nodes = session.MergeNodes(members.Now.Nodes, in.Nodes, in.Request.Remove.Nodes)
	r.in.Request.Members, r.in.Request.EtcdNext = members.Now.Nodes, members.Now.EtcdNext
	if err := r.repin(ctx); err != nil {
		return "", err
	}
	if err := r.choose(ctx); err != nil {
		return "", err
	}
	defer r.w.Close()
	if err := r.uncordon(ctx, session.Without(members.Now.Draining, session.Names(r.leave))); err != nil {
		return "", err
	}
	run := r.run
	if len(r.leave) == 0 {
		run = r.updateProxies
	}
	if err := run(ctx); err != nil {
		return "", err
	}
	staying := r.in.For(r.stay())
	staying.Request.Members, staying.Request.EtcdNext = members.Now.Nodes, members.Now.EtcdNext
	if staying.ChangesPart(members) {
		staying.Sick = staying.SickIn(r.ready, members)
	}
	if in.Request.Operation == contract.OperationRemoveControlPlane {
		if err := controlplane.AwaitMembers(ctx, staying, r.w.Access, ports); err != nil {
			return "", err
		}
	}
	return r.recap(), cluster.Finish(ctx, staying, key, r.c.Pins, ports, progress)
}

// errNoControlPlane reports that a removal would leave no control plane.
var errNoControlPlane = task.Because(contract.ReasonInvalidRequest, errors.New("every control plane would leave. To remove the cluster, delete the Provisioning"))

// choose finds the nodes that leave, and connects to a control plane that stays.
func (r *remover) choose(ctx context.Context) error {
	begun := slices.Concat(r.in.Request.Remove.Nodes, r.members.Now.Leaving)
	access := node.Access{Dial: r.ports.Dial, Request: r.in.Request, Key: r.key, Pins: r.c.Pins, Limit: r.in.ConnectLimit}
	staying := r.controlPlanes(begun)
	if len(staying) == 0 { // a lost host can work, for example one in quarantine
		r.in.Request.Kept = session.Without(r.in.Request.Kept, session.Names(node.ControlPlanes(r.in.Nodes)))
		staying = r.controlPlanes(begun)
	}
	if len(staying) == 0 {
		return errNoControlPlane
	}
	var err error
	if r.w, err = cluster.Connect(ctx, r.in.For(staying), access); err != nil {
		return err
	}
	r.w.Ends = r.in.Ends(r.ports)
	if r.ready, err = r.w.Registered(ctx); err != nil {
		return cluster.Unanswered("choose the nodes that leave", err)
	}
	var pods map[string]int
	if len(r.in.Request.Remove.Sets) > 0 {
		if pods, err = r.w.PodsPerNode(ctx); err != nil {
			return cluster.Unanswered("choose the nodes that leave", err)
		}
	}
	for _, name := range shrink.Leaving(*r.in.Request.Remove, r.members.Now, pods) {
		i := slices.IndexFunc(r.in.Nodes, func(n contract.Node) bool { return n.Name == name })
		switch {
		case !session.KubernetesName.MatchString(name):
			return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", name))
		case i < 0:
			fmt.Fprintf(r.ports.Log, "Node %s has left the cluster already\n", name)
		default:
			r.leave = append(r.leave, r.in.Nodes[i])
		}
	}
	return r.order()
}

// order sorts the nodes for the inventory, and lets the control planes that stay answer all further
// questions. Kubespray works through the first control plane, so those that leave are the last
// ones.
func (r *remover) order() error {
	r.in.Request.Remove = &contract.Removal{Nodes: session.Names(r.leave), Alive: r.in.Request.Remove.Alive, DrainSeconds: r.in.Request.Remove.DrainSeconds, DrainsSeconds: r.in.Request.Remove.DrainsSeconds}
	r.in.Nodes, _ = inventory.Members(r.in.Request, r.in.Nodes)
	staying := r.controlPlanes(session.Names(r.leave))
	if len(staying) == 0 {
		return errNoControlPlane
	}
	r.w.Close()
	r.w.Input = r.in.For(staying)
	if kept := r.kept(); len(kept) > 0 {
		fmt.Fprintf(r.ports.Log, "These lost nodes stay, and this run does not wait for them: %s\n", session.JoinNames(kept))
	}
	if len(r.leave) == 0 {
		fmt.Fprintf(r.ports.Log, "No node is left to remove\n")
	} else {
		fmt.Fprintf(r.ports.Log, "These nodes leave: %s. These stay: %s\n", session.JoinNames(r.leave), session.JoinNames(r.stay()))
	}
	return nil
}

// controlPlanes returns the control planes of the record, except those that leave, and lost ones.
func (r *remover) controlPlanes(leave []string) []contract.Node {
	return slices.DeleteFunc(node.ControlPlanes(r.in.Nodes), func(n contract.Node) bool {
		return slices.Contains(leave, n.Name) || !session.HasName(r.members.Now.Nodes, n.Name) || slices.Contains(r.in.Request.Kept, n.Name)
	})
}

// stay returns the nodes of the record that do not leave, except lost ones: nothing connects to them
// or waits for them.
func (r *remover) stay() []contract.Node {
	return slices.DeleteFunc(slices.Clone(r.in.Nodes), func(n contract.Node) bool {
		return session.HasName(r.leave, n.Name) || !session.HasName(r.members.Now.Nodes, n.Name) || slices.Contains(r.in.Request.Kept, n.Name)
	})
}

// run removes the chosen nodes, except those that cannot be drained. Up to the entry in Leaving it only
// evicts pods, and an error leaves the cluster as it was.
func (r *remover) run(ctx context.Context) error {
	if err := r.checkServer(ctx); err != nil {
		return err
	}
	if err := r.meet(ctx); err != nil {
		return err
	}
	if err := r.eachMember(ctx, (*cluster.View).CheckQuorum); err != nil {
		return err
	}
	if err := r.drain(ctx); err != nil || len(r.leave) == 0 {
		return err
	}
	err := r.members.Change(ctx, func(next *contract.Installed) {
		for _, n := range r.leave {
			if session.HasName(next.Nodes, n.Name) {
				next.Leaving = session.With(next.Leaving, []string{n.Name})
			}
		}
		next.Draining = session.Without(next.Draining, session.Names(r.leave))
	})
	if err != nil {
		return err
	}
	if err := r.leaveControlPlane(ctx); err != nil {
		return err
	}
	errs := r.empty(ctx)
	if err := session.Stopped(ctx, "the removal"); err != nil {
		return err
	}
	if err := r.deleteNodes(ctx); err != nil {
		return err
	}
	if err := r.updateProxies(ctx); err != nil {
		return err
	}
	if err := r.strike(ctx, errs); err != nil {
		return err
	}
	return cmp.Or(reset.FailedReset(r.leave, errs), r.left.Failure(r.recap()))
}

// drain drains the nodes that leave. Those that keep their pods do not leave in this run.
func (r *remover) drain(ctx context.Context) (err error) {
	if r.left, err = r.drainer().Drain(ctx, r.toDrain()); err != nil || len(r.left.Nodes) == 0 {
		return err
	}
	if len(r.left.Nodes) == len(r.leave) && r.left.Why != nil {
		return r.left.Why
	}
	var leave []contract.Node
	var visits []session.Visit
	for i, n := range r.leave {
		if !session.HasName(r.left.Nodes, n.Name) {
			leave, visits = append(leave, n), append(visits, r.c.Visits[i])
		}
	}
	r.leave, r.c.Nodes, r.c.Visits = leave, leave, visits
	r.absent = slices.DeleteFunc(r.absent, func(a reset.Absence) bool { return session.HasName(r.left.Nodes, a.Node.Name) })
	r.in.Request.Remove.Nodes = session.Names(leave)
	return nil
}

// meet connects to the machines of the nodes that leave. An error that a user can correct ends the
// run before anything is changed. So does a Ready node whose machine cannot be reset: it is alive,
// and its pods would go on running beside those that replace them.
func (r *remover) meet(ctx context.Context) error {
	r.progress.Set(1, "Connect to the hosts of the nodes that leave")
	in := r.in.For(r.leave)
	in.Request.OperatingSystem = "" // does not matter here
	var err error
	if r.c, err = session.Connect(ctx, in, r.key, r.ports); err != nil {
		return err
	}
	correctable := slices.Clone(r.c.Visits)
	for i, n := range r.leave {
		why := session.WhyAbsent(r.c.Visits[i].Err)
		if why == "" {
			continue
		}
		correctable[i].Err = nil
		if !r.ready[n.Name] && slices.Contains(r.in.Request.Remove.Alive, n.Name) {
			return &task.Error{Reason: contract.ReasonHostUnreachable, Host: n.Name, Step: "connect by SSH",
				Err: fmt.Errorf("node %s is not Ready any more, and its host %s %s. Nothing was changed. Its host is powered off before another one replaces it, if Metal3 can do that (%w)",
					n.Name, n.Host, why, r.c.Visits[i].Err)}
		}
		if r.ready[n.Name] && session.HasName(r.members.Now.Nodes, n.Name) {
			return &task.Error{Reason: session.Reason(r.c.Visits[i].Err), Host: n.Name, Step: "connect by SSH",
				Err: fmt.Errorf("node %s is Ready, but its host %s %s, so the node cannot be removed: its pods would go on running. Nothing was changed. "+
					"Repair the access to the host, or switch the machine off: a node that is not Ready is removed without its host (%w)", n.Name, n.Host, why, r.c.Visits[i].Err)}
		}
		r.absent = append(r.absent, reset.Absence{Node: n, Why: why})
	}
	return session.Worst(in, correctable)
}

// eachMember calls do for the control planes that leave.
func (r *remover) eachMember(ctx context.Context, do func(*cluster.View, context.Context, []contract.Node, contract.Node) error) error {
	for _, n := range node.ControlPlanes(r.leave) {
		if err := do(&cluster.View{Client: r.w, Ready: r.ready}, ctx, r.stay(), n); err != nil {
			return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: n.Name, Step: "remove the control plane from etcd",
				Err: fmt.Errorf("control plane %s cannot leave etcd: %w. %s", n.Name, err, controlplane.QuorumAdvice)}
		}
	}
	return nil
}

// toDrain returns the nodes that must be drained. A node that does not exist has no pods, and
// neither has one that an earlier attempt has drained. The pods of a lost host cannot end, and a
// failed run may leave the Node object of a node that never worked.
func (r *remover) toDrain() []contract.Node {
	if r.in.Request.Remove.DrainSeconds <= 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.leave), func(n contract.Node) bool {
		ready, registered := r.ready[n.Name]
		mayWork := ready || session.HasName(r.members.Now.Nodes, n.Name) && !slices.Contains(r.in.Request.Lost, n.Name)
		return !registered || !mayWork || slices.Contains(r.members.Now.Leaving, n.Name)
	})
}

// recap returns the result in one line: "2 nodes removed: worker-3, worker-4; host-4 did not
// answer".
func (r *remover) recap() string {
	switch {
	case len(r.leave)+len(r.left.Nodes) == 0:
		return "no node is left to remove"
	case len(r.leave) == 0:
		return task.Cut("no node was removed"+r.left.Text(), contract.MaxText)
	}
	text := []string{session.Count(len(r.leave), "node") + " removed: " + session.JoinNames(r.leave)}
	for _, a := range r.absent {
		text = append(text, a.Node.Host+" "+a.Why+", so it was not reset")
	}
	return task.Cut(strings.Join(text, "; ")+r.left.Text(), contract.MaxText)
}

func (r *remover) drainer() cluster.Drainer {
	return cluster.Drainer{Client: r.w, Members: r.members, Ports: r.ports, Limit: time.Duration(r.in.Request.Remove.DrainSeconds) * time.Second,
		Begins: time.Duration(r.in.Request.Remove.DrainsSeconds) * time.Second,
		Report: func(done float64, step string) { r.progress.Set(drainFrom+int(drainShare*done), step) }}
}

// uncordon lets nodes accept pods again, and takes them out of the record's list Draining.
func (r *remover) uncordon(ctx context.Context, names []string) error {
	return cluster.Uncordon(ctx, r.w, r.members, names, r.ports)
}
