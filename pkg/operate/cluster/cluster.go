package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// View is the cluster as one of its control planes sees it. nil: no control plane answers.
type View struct {
	Client *Client         // connected to this control plane only
	Ready  map[string]bool // by node name; a node that is not in the map is not registered
}

// IsReady reports whether the node is registered and Ready.
func (c *View) IsReady(name string) bool { return c != nil && c.Ready[name] }

// Close closes the connection, if there is one.
func (c *View) Close() {
	if c != nil {
		c.Client.Close()
	}
}

// Find asks the control planes, in their order, for the nodes of the cluster. It returns the
// first answer in which a control plane is Ready, or else the first answer, or nil if no API server
// answers. A control plane with the files of an API server is asked until in.ProbeLimit has passed,
// since its API server may be starting. If no API server answers and a connection failed,
// Find returns an error, because then it cannot decide.
func Find(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports) (found *View, err error) {
	var failed error
	for _, n := range node.ControlPlanes(in.Nodes) {
		next, err := askControlPlane(ctx, in, n, node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
		switch {
		case err != nil:
			failed = &task.Error{Reason: contract.ReasonHostUnreachable, Host: n.Name, Step: "find the nodes of the cluster", Err: err}
			fmt.Fprintf(ports.Log, "  %s: %v\n", n.Name, err)
		case next == nil:
			fmt.Fprintf(ports.Log, "  %s: no API server answers\n", n.Name)
		case next.HasControlPlane(in):
			found.Close()
			return next, nil
		case found == nil:
			found = next
		default:
			next.Close()
		}
	}
	if found == nil {
		return nil, failed
	}
	return found, nil
}

// askControlPlane returns the cluster as one control plane sees it, or nil if no API server answers
// there.
func askControlPlane(ctx context.Context, in session.Input, n contract.Node, access node.Access) (*View, error) {
	in.Nodes = []contract.Node{n}
	w, err := Connect(ctx, in, access)
	if err != nil {
		return nil, err
	}
	ready, err := w.nodes(ctx)
	if err != nil || ready == nil {
		w.Close()
		return nil, err
	}
	return &View{Client: w, Ready: ready}, nil
}

// hasConfig is a command that succeeds on a control plane on which kubeadm has configured an API
// server.
const hasConfig = "test -s /etc/kubernetes/admin.conf"

// nodes returns which nodes are Ready, or nil if the API server does not answer.
func (w *Client) nodes(ctx context.Context) (map[string]bool, error) {
	asking, cancel := context.WithTimeout(ctx, w.Input.ProbeLimit)
	defer cancel()
	var exit *ssh.ExitError
	if _, err := w.conn.Output(asking, node.AsRoot(w.Input.Request, hasConfig), 64<<10); errors.As(err, &exit) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for {
		raw, err := w.Ask(asking, "get nodes --output json --request-timeout=10s", MaxObjects)
		if err == nil {
			return readiness(raw, w.Input.Request.NetworkPlugin)
		}
		if !errors.As(err, &exit) && asking.Err() == nil {
			return nil, err
		}
		pause := time.NewTimer(w.Input.PollInterval())
		select {
		case <-pause.C:
		case <-asking.Done():
			pause.Stop()
			return nil, ctx.Err() // nil, if only the time for the API server has passed
		}
	}
}

// readiness parses the output of "kubectl get nodes". A node that waits only for the user's pod
// network counts as Ready.
func readiness(raw []byte, networkPlugin string) (map[string]bool, error) {
	var list struct{ Items []object }
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the output of kubectl is unreadable: %w", err)
	}
	ready := map[string]bool{}
	for _, o := range list.Items {
		is, why := o.ready()
		ready[o.Metadata.Name] = is || ownNetwork(networkPlugin, why)
	}
	return ready, nil
}

// Remove removes a node that is not Ready from the cluster: its member of etcd, if it is a control
// plane, and its Node object.
func (c *View) Remove(ctx context.Context, all []contract.Node, n contract.Node) error {
	if !session.KubernetesName.MatchString(n.Name) || c.Ready[n.Name] {
		return fmt.Errorf("node %q is Ready or has no valid name", n.Name)
	}
	if len(node.ControlPlanes([]contract.Node{n})) > 0 {
		if err := c.RemoveMember(ctx, all, n); err != nil {
			return err
		}
	}
	if _, registered := c.Ready[n.Name]; !registered {
		return nil
	}
	if _, err := c.Client.Ask(ctx, "delete node "+n.Name+" --ignore-not-found --wait=false", 64<<10); err != nil {
		return fmt.Errorf("delete node %s: %w", n.Name, err)
	}
	delete(c.Ready, n.Name)
	return nil
}

// HasControlPlane reports whether one of the control planes of the request is Ready.
func (c *View) HasControlPlane(in session.Input) bool {
	return slices.ContainsFunc(node.ControlPlanes(in.Nodes), func(n contract.Node) bool { return c.IsReady(n.Name) })
}
