package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// MaxObjects bounds the output of kubectl in bytes. The limit is large enough for about 2,000 nodes
// and their pods.
const MaxObjects = 64 << 20

// AwaitHealthy waits until all nodes of w.Input are registered and Ready, and all system pods are Ready. The
// success of a playbook does not mean this: for example, the DNS server may crash again and again. If they are
// not healthy when the context ends, or when the run is asked to end, it returns the problems that it has seen
// last. It does not count problems for which ignore returns true; nil: it counts all.
func (w *Client) AwaitHealthy(ctx context.Context, log io.Writer, ignore func(Problem) bool) (bad []Problem, healthy bool) {
	fmt.Fprintf(log, "\nWaiting until nodes and system pods are Ready\n")
	for last := ""; ; {
		now, ignored := w.Probe(ctx), []Problem(nil)
		if ignore != nil {
			ignored = slices.DeleteFunc(slices.Clone(now), func(t Problem) bool { return !ignore(t) })
			now = slices.DeleteFunc(now, ignore)
		}
		if ctx.Err() != nil {
			return bad, false
		}
		switch bad = now; {
		case len(bad) == 0 && len(ignored) > 0:
			fmt.Fprintf(log, "  Everything else is Ready. This is not waited for: %s\n", Summary(ignored))
			return nil, true
		case len(bad) == 0:
			fmt.Fprintf(log, "  %s and all system pods are Ready\n", session.Count(len(w.Input.Nodes), "node"))
			return nil, true
		}
		if text := Summary(bad); text != last {
			fmt.Fprintf(log, "  %s\n", text)
			last = text
		}
		if w.ends(ctx) {
			return bad, false
		}
		pause := time.After(w.Input.PollInterval()) // if kubectl wait has nothing to wait for, the loop must not run without a pause
		if bad[0].await != "" {
			_, _ = w.Ask(ctx, bad[0].await+" --timeout=15s", 64<<10) // the result is ignored, because the next probe reads the state again
		}
		select {
		case <-pause:
		case <-ctx.Done():
		}
	}
}

// Problem is one problem of the cluster.
type Problem struct {
	Node  string // the node with the problem; empty: not about a node
	What  string // a description for the user
	await string // arguments of kubectl to wait for the end of the problem; empty: kubectl cannot wait for it
	// Unplaced: the problem is a pod that no node runs yet.
	Unplaced bool
	// Pod: the problem is a pod.
	Pod bool
}

// Probe queries nodes and system pods and returns the problems of the cluster.
func (w *Client) Probe(ctx context.Context) []Problem {
	raw, err := w.Ask(ctx, "get nodes,pods --namespace kube-system --output json --request-timeout=30s", MaxObjects)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return []Problem{{What: "the new API server does not answer kubectl: " + task.Cut(exit.Stderr, 300)}}
	}
	if err != nil {
		return []Problem{{What: fmt.Sprintf("no control plane answers: %v", err)}}
	}
	var list struct{ Items []object }
	if err := json.Unmarshal(raw, &list); err != nil {
		return []Problem{{What: fmt.Sprintf("the output of kubectl is unreadable: %v", err)}}
	}
	return findTrouble(w.Input.Nodes, w.Input.Request.NetworkPlugin, list.Items)
}

// object holds the fields of nodes and pods that the probe reads.
type object struct {
	Kind     string
	Metadata struct {
		Name              string
		DeletionTimestamp *time.Time
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase                 string
		Conditions            []struct{ Type, Status, Reason, Message string }
		InitContainerStatuses []containerStatus
		ContainerStatuses     []containerStatus
	}
}

type containerStatus struct {
	State struct {
		Waiting, Terminated *struct{ Reason, Message string }
	}
}

// findTrouble returns the problems of the cluster. nodes are the nodes that it should have.
func findTrouble(nodes []contract.Node, networkPlugin string, objects []object) []Problem {
	var bad []Problem
	registered := map[string]object{}
	pods := 0
	for _, o := range objects {
		switch o.Kind {
		case "Node":
			registered[o.Metadata.Name] = o
		case "Pod":
			pods++
		}
	}
	for _, n := range nodes {
		o, there := registered[n.Name]
		if !there {
			bad = append(bad, Problem{Node: n.Name, What: "node " + n.Name + " is not registered", await: await("create", "node", n.Name)})
		} else if ready, why := o.ready(); !ready && !ownNetwork(networkPlugin, why) {
			bad = append(bad, Problem{Node: n.Name, What: "node " + n.Name + " is not Ready: " + why, await: await("condition=Ready", "node", n.Name)})
		} else if pressure, why := o.pressure(); pressure != "" {
			bad = append(bad, Problem{Node: n.Name, What: "node " + n.Name + " does not accept pods: " + why, await: await("condition="+pressure+"=False", "node", n.Name)})
		}
	}
	if pods == 0 {
		bad = append(bad, Problem{What: "there is no pod in kube-system"})
	}
	ours := func(name string) bool {
		return slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Name == name })
	}
	for _, o := range objects {
		// pods on a lost node do not count: such a node is not in the inventory any more
		if on := o.Spec.NodeName; on != "" && !ours(on) {
			continue
		}
		if trouble, sick := sickPod(o, networkPlugin); sick {
			bad = append(bad, trouble)
		}
	}
	return bad
}

func sickPod(o object, networkPlugin string) (Problem, bool) {
	if o.Kind != "Pod" || o.Metadata.DeletionTimestamp != nil || o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed" {
		return Problem{}, false // the pod's owner has already replaced this failed pod
	}
	ready, why := o.ready()
	if ready || needsNetwork(networkPlugin) && o.Status.Phase == "Pending" {
		return Problem{}, false
	}
	on := ""
	if o.Spec.NodeName != "" {
		on = " on " + o.Spec.NodeName
	}
	what := fmt.Sprintf("pod kube-system/%s%s is not Ready: %s", o.Metadata.Name, on, why)
	return Problem{Node: o.Spec.NodeName, What: what, await: "--namespace kube-system " + await("condition=Ready", "pod", o.Metadata.Name), Unplaced: on == "", Pod: true}, true
}

// ready reports whether the object is Ready. If not, it also returns why: the reason of a waiting
// container, or the condition if no container is waiting.
func (o object) ready() (bool, string) {
	why := "no condition yet"
	for _, c := range o.Status.Conditions {
		switch {
		case c.Type == "Ready" && c.Status == "True":
			return true, ""
		case c.Type == "Ready", c.Type == "PodScheduled" && c.Status == "False":
			why = strings.Trim(c.Reason+": "+c.Message, ": ")
		}
	}
	for _, c := range slices.Concat(o.Status.InitContainerStatuses, o.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			return false, strings.Trim(w.Reason+": "+w.Message, ": ")
		}
	}
	return false, task.Cut(why, 300)
}

// pressure returns the condition that keeps a Ready node from accepting pods, usually a full disk.
func (o object) pressure() (condition, why string) {
	for _, c := range o.Status.Conditions {
		if strings.HasSuffix(c.Type, "Pressure") && c.Status == "True" {
			return c.Type, task.Cut(strings.Trim(c.Reason+": "+c.Message, ": "), 300)
		}
	}
	return "", ""
}

// needsNetwork reports whether the user must install the pod network, because kubespray does not
// install this plugin. Until then no node becomes Ready.
func needsNetwork(plugin string) bool { return plugin == "none" || plugin == "cni" }

// ownNetwork reports whether a node is not Ready only because the user has not installed the pod
// network yet.
func ownNetwork(plugin, why string) bool {
	return needsNetwork(plugin) && strings.Contains(why, "NetworkPluginNotReady")
}

// await returns the arguments for kubectl wait. It returns an empty string if the name is not a
// valid Kubernetes name: the name comes from the new cluster and is passed to a shell.
func await(what, kind, name string) string {
	if !session.KubernetesName.MatchString(name) {
		return ""
	}
	return "wait --for=" + what + " " + kind + "/" + name
}

// Summary returns the first problem and the number of the others. There must be one.
func Summary(bad []Problem) string {
	if len(bad) == 1 {
		return bad[0].What
	}
	return fmt.Sprintf("%s (and %d more)", bad[0].What, len(bad)-1)
}

func unhealthy(ctx context.Context, in session.Input, bad []Problem) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return fmt.Errorf("interrupted while waiting for a healthy cluster: %w", context.Canceled)
	}
	if len(bad) == 0 {
		bad = []Problem{{What: "the control plane does not answer"}}
	}
	return &task.Error{
		Reason: contract.ReasonClusterUnhealthy, Host: bad[0].Node, Step: "check the cluster",
		Err: fmt.Errorf("the playbook succeeded, but the cluster is still not healthy after %s: %s", in.HealthLimit, Summary(bad)),
	}
}
