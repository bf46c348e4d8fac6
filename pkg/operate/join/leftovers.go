package join

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/reset"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// resetLeftovers resets the machines on which an earlier attempt of this Provisioning has left a
// part of a node. Kubespray cannot continue such a node: for example, it skips kubeadm if kubeadm has
// finished, and then waits in vain. A Ready node is never reset.
func resetLeftovers(ctx context.Context, in session.Input, key ssh.Key, c session.Contact, ports session.Ports, progress *playbook.Progress) error {
	dirty := leftovers(c, in)
	if len(dirty) == 0 {
		return nil
	}
	progress.Set(0, "Check the leftovers of an earlier attempt")
	fmt.Fprintf(ports.Log, "\nAn earlier attempt has left something on %s. Asking the cluster which of them are nodes\n", session.JoinNames(dirty))
	found, err := cluster.Find(ctx, in, key, c.Pins, ports)
	if err != nil {
		return err
	}
	defer found.Close()
	doomed, why, err := choose(in, dirty, found)
	if err != nil {
		return err
	}
	fmt.Fprintf(ports.Log, "  %s\n", why)
	if len(doomed) == 0 {
		return nil
	}
	if found.HasControlPlane(in) {
		for _, n := range doomed {
			if err := found.Remove(ctx, in.Nodes, n); err != nil {
				return &task.Error{Reason: contract.ReasonResetIncomplete, Host: n.Name, Step: "remove the unfinished node from the cluster",
					Err: fmt.Errorf("the unfinished node %s cannot be removed from the cluster, so its machine is not reset: %w", n.Name, err)}
			}
		}
	}
	r := reset.Work{Input: in, Key: key, Contact: c, Ports: ports, Report: func(_ int, step string) { progress.Set(0, "Reset unfinished nodes: "+step) }}
	errs := r.Reset(ctx, doomed, func(contract.Node) error { return nil })
	if err := session.Stopped(ctx, "the reset of unfinished nodes"); err != nil {
		return err
	}
	// facts of the machines before the reset are not valid any more
	if err := os.RemoveAll(filepath.Join(in.ScratchDir, "facts")); err != nil {
		return task.Because(contract.ReasonInternal, err)
	}
	return reset.Incomplete(doomed, errs)
}

// leftovers returns the nodes on whose machines this Provisioning has left something. If the cluster
// was installed completely once, it leaves out the hosts that are or may be nodes.
func leftovers(c session.Contact, in session.Input) []contract.Node {
	var dirty []contract.Node
	// limited has left out the installed nodes already; after a failed attempt,
	// in.Request.Installed also has the hosts that this attempt was to add
	keep := in.Request.Complete && in.Playbook != contract.PlaybookScale && in.Fresh == nil
	for i, n := range c.Nodes {
		r := c.Visits[i].Report
		if r.Clean() || !c.IsOurs(in, n, r) || keep && slices.Contains(in.Request.Installed, n.Host) {
			continue
		}
		dirty = append(dirty, n)
	}
	return dirty
}

// choose returns which of the nodes with leftovers are reset, and the reason for the log. found is
// nil if no control plane answers.
func choose(in session.Input, dirty []contract.Node, found *cluster.View) (doomed []contract.Node, why string, err error) {
	doomed = slices.DeleteFunc(slices.Clone(dirty), func(n contract.Node) bool { return found.IsReady(n.Name) })
	switch {
	case len(doomed) == 0:
		return nil, "All of them are Ready nodes, so none is reset", nil
	case found.HasControlPlane(in):
		return doomed, "These machines are not Ready nodes of the cluster, so they are reset: " + session.JoinNames(doomed), nil
	case in.Request.Complete:
		return nil, "", &task.Error{Reason: contract.ReasonResetIncomplete, Host: doomed[0].Name, Step: "find the nodes of the cluster",
			Err: fmt.Errorf("no control plane of the cluster is Ready, so it is not certain that %s is no node of it. "+
				"Nothing was reset. Repair a control plane; the next attempt continues", session.JoinNames(doomed))}
	case slices.ContainsFunc(in.Nodes, func(n contract.Node) bool { return found.IsReady(n.Name) }):
		return nil, "No control plane is Ready, but another node is, so nothing is reset", nil
	}
	return doomed, "No control plane is Ready and the cluster was never complete, so these machines are reset: " + session.JoinNames(doomed), nil
}
