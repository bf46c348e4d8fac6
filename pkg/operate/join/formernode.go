package join

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// removeFormer deletes the Node objects of lost machines whose names new machines get. kubeadm join refuses
// a machine while a Node of its name is Ready, and the kubelet of this machine comes up all the same and
// takes the Node over. It waits for the last heartbeat of a lost machine. A Node that stays Ready
// is that of a machine that runs, so the new machine does not join beside it.
func removeFormer(ctx context.Context, c session.Contact, in session.Input, key ssh.Key, ports session.Ports) error {
	renewed := slices.DeleteFunc(slices.Clone(c.Nodes), func(n contract.Node) bool { return !slices.Contains(in.Request.Gone(), n.Name) })
	if len(renewed) == 0 {
		return nil
	}
	w, err := cluster.Connect(ctx, in, node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: c.Pins, Limit: in.ConnectLimit})
	if err != nil {
		return err
	}
	defer w.Close()
	for _, n := range renewed {
		state, err := w.ReadyStatus(ctx, n.Name)
		if err != nil {
			return cluster.Unanswered("find the Node of the lost machine of "+n.Name, err)
		}
		if state == "" {
			continue
		}
		own, err := hasNode(ctx, c, in, w, n, key, ports)
		if err != nil {
			return err
		}
		if own { // an earlier attempt has begun to join it
			continue
		}
		if state == "True" && !w.AwaitUnready(ctx, n.Name) {
			if err := session.Stopped(ctx, "the wait for the end of node "+n.Name); err != nil {
				return err
			}
			return &task.Error{Reason: contract.ReasonResetIncomplete, Host: n.Name, Step: "remove the lost node",
				Err: fmt.Errorf("node %s stays Ready in the cluster, so its former machine runs, and %s cannot join under its name. "+
					"Nothing was changed. Switch the former machine off; the next attempt continues", n.Name, n.Host)}
		}
		fmt.Fprintf(ports.Log, "The Node object of the former machine of %s is deleted, so that %s can join under its name\n", n.Name, n.Host)
		if _, err := w.Ask(ctx, "delete node "+n.Name+" --ignore-not-found --wait=false", 64<<10); err != nil {
			return cluster.Unanswered("delete node "+n.Name, err)
		}
	}
	return nil
}

// identityScript prints what the kubelet of a machine reports as its machineID and its systemUUID. Not every
// machine has both.
const identityScript = `cat /etc/machine-id /sys/class/dmi/id/product_uuid 2>/dev/null || true`

// hasNode reports whether the Node of this name is that of the machine, and not that of a former machine. A
// machine without a Kubernetes has no Node. Only the identity that the kubelet has reported proves that
// the Node is that of another machine.
func hasNode(ctx context.Context, c session.Contact, in session.Input, w *cluster.Client, n contract.Node, key ssh.Key, ports session.Ports) (bool, error) {
	i := slices.IndexFunc(c.Nodes, func(o contract.Node) bool { return o.HostUID == n.HostUID })
	if i < 0 || c.Visits[i].Report.Clean() {
		return false, nil
	}
	reported, err := w.Ask(ctx, "get node "+n.Name+` --ignore-not-found --output jsonpath='{.status.nodeInfo.machineID} {.status.nodeInfo.systemUUID}'`, 64<<10)
	if err != nil {
		return false, cluster.Unanswered("find the machine of node "+n.Name, err)
	}
	var own []byte
	err = session.OnMachine(ctx, in, n, key, c.Visits[i].Key, ports, func(ctx context.Context, sh machine.Shell) (err error) {
		own, err = sh(ctx, identityScript)
		return err
	})
	if err != nil {
		return false, &task.Error{Reason: session.Reason(err), Host: n.Name, Step: "find the identity of the machine", Err: err}
	}
	ids := strings.Fields(strings.ToLower(string(own)))
	for _, id := range strings.Fields(strings.ToLower(string(reported))) {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			return false, nil
		}
	}
	return true, nil
}
