package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Forget deletes the lost nodes that the run replaces or removes from the cluster, so that their pods are recreated on other nodes and a
// new machine can use the name. It does not delete a Ready node: either the old machine is alive,
// or the new machine already has the name. If a node cannot be deleted, the run does not fail, and
// the log tells the user how to delete the node. With patient, it waits for a node that is still
// Ready, because Kubernetes notices the end of a machine only after its last heartbeat.
func Forget(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports, patient bool) {
	gone := in.Request.Gone()
	if len(gone) == 0 {
		return
	}
	w, err := Connect(ctx, in, node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		fmt.Fprintf(ports.Log, "Lost nodes are not removed from the cluster: %v\n", err)
		return
	}
	defer w.Close()
	for _, name := range gone {
		if session.KubernetesName.MatchString(name) {
			fmt.Fprintf(ports.Log, "Lost node %s: %s\n", name, w.forget(ctx, name, patient))
		}
	}
}

// lostRounds is how often a query for the end of a node's heartbeats is repeated. Each one takes up to
// half of Input.ProbeLimit. With the default of 40 s these are 80 s; Kubernetes needs 40 to 50 s.
const lostRounds = 4

// AwaitUnready waits until a node that is Ready has no heartbeats any more. It returns false if the
// node is alive, or if this is not known.
func (w *Client) AwaitUnready(ctx context.Context, name string) bool {
	for range lostRounds {
		_, _ = w.Ask(ctx, fmt.Sprintf("wait --for=condition=Ready=Unknown node/%s --timeout=%s", name, w.Input.ProbeLimit/2), 64<<10) // the state decides
		if state, err := w.ReadyStatus(ctx, name); err == nil && state != "True" {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}

// ReadyStatus returns the status of a node's condition Ready, such as "True"; empty: the node is not in the cluster.
func (w *Client) ReadyStatus(ctx context.Context, name string) (string, error) {
	state, err := w.Ask(ctx, "get node "+name+` --ignore-not-found --output jsonpath='{.status.conditions[?(@.type=="Ready")].status}'`, 64<<10)
	return strings.TrimSpace(string(state)), err
}

// forget deletes one lost node and returns the text for the log.
func (w *Client) forget(ctx context.Context, name string, patient bool) string {
	later := func(err error) string {
		return fmt.Sprintf("not removed from the cluster (%v); when you are sure that it is lost, run: kubectl delete node %s", err, name)
	}
	state, err := w.ReadyStatus(ctx, name)
	switch {
	case err != nil:
		return later(err)
	case state == "True" && !(patient && w.AwaitUnready(ctx, name)):
		return "it is Ready, so it stays in the cluster"
	case state == "":
		return "it is not in the cluster"
	}
	if _, err := w.Ask(ctx, "delete node "+name+" --ignore-not-found --wait=false", 64<<10); err != nil {
		return later(err)
	}
	return "removed from the cluster"
}
