package kubespray

import (
	"context"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// forget deletes lost nodes from the cluster, so that their pods are recreated on other nodes and a
// new machine can use the name. It does not delete a Ready node: either the old machine is alive,
// or the new machine already has the name. If a node cannot be deleted, the run does not fail, and
// the log tells the user how to delete the node.
func forget(ctx context.Context, in Input, key ssh.Key, pins ssh.Pins, ports Ports) {
	if len(in.Request.Lost) == 0 {
		return
	}
	w, err := newWatch(ctx, in, node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		fmt.Fprintf(ports.Log, "Lost nodes are not removed from the cluster: %v\n", err)
		return
	}
	defer w.close()
	for _, name := range in.Request.Lost {
		if kubernetesName.MatchString(name) {
			fmt.Fprintf(ports.Log, "Lost node %s: %s\n", name, w.forget(ctx, name))
		}
	}
}

// forget deletes one lost node and returns the text for the log.
func (w *watch) forget(ctx context.Context, name string) string {
	const ready = `--output jsonpath='{.status.conditions[?(@.type=="Ready")].status}'`
	later := func(err error) string {
		return fmt.Sprintf("not removed from the cluster (%v); when you are sure that it is lost, run: kubectl delete node %s", err, name)
	}
	state, err := w.ask(ctx, "get node "+name+" --ignore-not-found "+ready, 64<<10)
	switch state := strings.TrimSpace(string(state)); {
	case err != nil:
		return later(err)
	case state == "True":
		return "it is Ready, so it stays in the cluster"
	case state == "":
		return "it is not in the cluster"
	}
	if _, err := w.ask(ctx, "delete node "+name+" --ignore-not-found --wait=false", 64<<10); err != nil {
		return later(err)
	}
	return "removed from the cluster"
}
