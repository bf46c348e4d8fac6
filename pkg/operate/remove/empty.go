package remove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/play"
	"github.com/akraino-icn/bpa/pkg/operate/reset"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// empty resets the machines of the nodes that leave. It returns an error for each node of leave;
// nil means that the machine is empty, or that it is left out because it does not answer.
// Kubespray's playbook only helps: if it fails, the reset and the deletion of the Node objects do
// its work.
func (r *remover) empty(ctx context.Context) []error {
	resetter := reset.Work{Input: r.withInventory(), Key: r.key, Contact: r.c, Ports: r.ports, Report: r.part(resetFrom, resetShare)}
	errs := make([]error, len(r.leave))
	var living []int
	for i, n := range r.leave {
		switch v := r.c.Visits[i]; {
		case v.Err != nil: // it is in r.absent
		case session.IsEmpty(v.Report):
			errs[i] = resetter.Leave(ctx, n)
		default:
			if errs[i] = r.c.Record.Set(ctx, contract.HostUsed, n.HostUID); errs[i] == nil {
				living = append(living, i)
			}
		}
	}
	if len(living) == 0 {
		return errs
	}
	nodes := make([]contract.Node, len(living))
	for k, i := range living {
		nodes[k] = r.leave[i]
	}
	if err := r.play(ctx, resetter, nodes); err != nil {
		fmt.Fprintf(r.ports.Log, "%s failed: %v\nThe nodes are removed without it\n", contract.PlaybookRemove, err)
	}
	if ctx.Err() != nil {
		return errs
	}
	session.Each(len(living), func(k int) { // what the playbook has left
		_ = resetter.On(ctx, nodes[k], func(ctx context.Context, sh machine.Shell) error {
			report, err := r.ports.Machines.Inspect(ctx, sh)
			if err == nil {
				r.c.Visits[living[k]].Report = report
			}
			return err // then the machine is reset as it was before
		})
	})
	for k, err := range resetter.Reset(ctx, nodes, func(n contract.Node) error { return resetter.Leave(ctx, n) }) {
		errs[living[k]] = err
	}
	return errs
}

// part returns a function that reports the progress of a part of the run.
func (r *remover) part(from, share int) func(percent int, step string) {
	return func(percent int, step string) { r.progress.Set(from+percent*share/100, step) }
}

// withInventory returns the input with the inventory of the cluster and the nodes that leave. A
// node without an address is not in it, and neither is a lost one: kubespray works through the first
// control plane.
func (r *remover) withInventory() session.Input {
	in := r.in
	kept := r.kept()
	in.Nodes = slices.DeleteFunc(slices.Clone(in.Nodes), func(n contract.Node) bool {
		return n.Address == "" && session.HasName(r.leave, n.Name) || session.HasName(kept, n.Name)
	})
	if len(node.ControlPlanes(r.leave)) > 0 { // they are no members of etcd any more
		in.Request.Members = slices.Concat(r.stay(), withoutEtcd(r.leave))
		in.Request.Remove = nil
	}
	return reset.WithInventory(in, r.ports)
}

func withoutEtcd(nodes []contract.Node) []contract.Node {
	all := slices.Clone(nodes)
	for i := range all {
		all[i].Etcd = ""
	}
	return all
}

// play runs kubespray's remove-node.yml on those workers that have a Kubernetes and are in the
// cluster, after the network settings of the site are saved there. The nodes are drained already.
// The playbook resets the machines and deletes the Node objects. Through the inventory it can
// connect to the first control plane, and to no other node that stays. It does not run for control
// planes: kubespray refuses a group etcd with an even number of nodes, which a removal needs or
// leaves, and it would not check the quorum.
func (r *remover) play(ctx context.Context, resetter reset.Work, nodes []contract.Node) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		return len(resetter.ReportOf(n).Kubernetes) == 0 || !session.HasName(r.members.Now.Nodes, n.Name) || session.RoleRank(n) == 0
	})
	r.progress.Set(playbookFrom, "Save the network settings of the site")
	saved := make([]bool, len(nodes))
	session.Each(len(nodes), func(i int) { saved[i] = resetter.On(ctx, nodes[i], r.ports.Machines.Save) == nil }) // the reset reports an error
	in := resetter.Input
	in.Playbook, in.Limit = contract.PlaybookRemove, nil
	for i, n := range nodes {
		if saved[i] {
			in.Limit = append(in.Limit, n.Name)
		}
	}
	if len(in.Limit) == 0 {
		return nil
	}
	if len(in.HostsINI) == 0 {
		return fmt.Errorf("there is no inventory for it")
	}
	in.ExtraVars = removeVars(in)
	counted := play.CountTasks(in)
	files, err := play.Prepare(in, r.c.Pins)
	if err != nil {
		return err
	}
	_, err = play.Run(ctx, in, files, r.ports, r.part(playbookFrom, playbookShare), counted)
	return err
}

// removeVars are the extra variables of kubespray's remove-node.yml. The nodes are drained, so the
// playbook must not wait for pods again, nor for volumes, which would be for five minutes at a
// time.
func removeVars(in session.Input) map[string]any {
	vars := reset.PlaybookVars(in)
	vars["node"] = strings.Join(in.Limit, ",")
	vars["skip_confirmation"] = true
	vars["allow_ungraceful_removal"] = true
	vars["drain_grace_period"], vars["drain_timeout"], vars["drain_retries"] = 30, "30s", 1
	return vars
}

// deleteNodes deletes the Node objects that are left, and checks that they are gone.
func (r *remover) deleteNodes(ctx context.Context) error {
	r.progress.Set(resetFrom+resetShare, "Check that the nodes are gone")
	registered, err := r.w.Registered(ctx)
	for _, n := range r.leave {
		if _, there := registered[n.Name]; there && err == nil {
			_, err = r.w.Ask(ctx, "delete node "+n.Name+" --ignore-not-found --timeout=20s", 64<<10)
		}
	}
	if err == nil {
		registered, err = r.w.Registered(ctx)
	}
	for _, n := range r.leave {
		if _, there := registered[n.Name]; there && err == nil {
			err = fmt.Errorf("node %s still exists", n.Name)
		}
	}
	if err != nil {
		return cluster.Unanswered("delete the nodes "+session.JoinNames(r.leave), err)
	}
	return nil
}

// strike takes the nodes that have left out of the record. errs are in the order of leave.
func (r *remover) strike(ctx context.Context, errs []error) error {
	return Strike(ctx, r.ports.Installed, r.members, r.leave, errs)
}

// Strike takes the nodes that have left out of the record, which is in the store. A node whose machine is not
// empty stays in it, so that the next attempt resets the machine. errs are in the order of leave; nil: the node
// has left.
func Strike(ctx context.Context, store session.Store, members *session.ClusterRecord, leave []contract.Node, errs []error) error {
	var left []contract.Node
	for i, n := range leave {
		if errs[i] == nil {
			left = append(left, n)
		}
	}
	if err := session.RemoveJoined(ctx, store, session.HostUIDs(left)); err != nil {
		return err
	}
	return members.Change(ctx, func(next *contract.Installed) {
		next.Nodes = slices.DeleteFunc(next.Nodes, func(n contract.Node) bool { return session.HasName(left, n.Name) })
		next.Leaving = session.Without(next.Leaving, session.Names(left))
	})
}
