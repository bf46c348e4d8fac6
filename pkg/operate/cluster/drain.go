package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/appcluster/drain"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	// drainRound is the longest time of one attempt to evict pods. Between two attempts, the task shows
	// how many pods are left, and checks that the node is alive.
	drainRound = 10 * time.Second
	// DeadAfter is how long a node must not be Ready until its drain ends without success. Then its
	// pods cannot end, but a kubelet that only restarts is Ready again earlier.
	DeadAfter = time.Minute
	// undoLimit bounds the time to uncordon nodes after the task was cancelled.
	undoLimit = 15 * time.Second
)

// Drainer drains nodes of a cluster.
type Drainer struct {
	Client  *Client
	Members *session.ClusterRecord
	Ports   session.Ports
	Limit   time.Duration // for one node
	Begins  time.Duration // after this time, no drain of another node begins; 0: no limit
	// Stays reports that the nodes stay in the cluster, so that a dead one must not be taken for
	// drained.
	Stays bool
	// Dead are the names of nodes that do not work. They are cordoned, and not drained: they run no pods.
	Dead []string
	// Report receives the part of the drain of all nodes that is done, 0 to 1.
	Report func(done float64, step string)
}

// Undrained are the nodes that a run leaves as they are, because they keep their pods.
type Undrained struct {
	Nodes []contract.Node
	Why   *task.Error // the first drain that was blocked, with the other ones; nil: none was
	// Asked reports that the run was asked to end (Client.Ends): no other node is drained.
	Asked bool
}

// Text describes the nodes, as the end of a recap; empty: there are none.
func (u Undrained) Text() string {
	switch {
	case len(u.Nodes) == 0:
		return ""
	case u.Asked:
		return "; another change comes first, so these wait: " + session.JoinNames(u.Nodes)
	}
	return "; " + session.JoinNames(u.Nodes) + " not drained yet"
}

// Failure returns the error of a run that has done the rest, which done describes; nil: it has not failed.
func (u Undrained) Failure(done string) error {
	if u.Why == nil {
		return nil
	}
	failed := *u.Why
	failed.Err = fmt.Errorf("%s. %w", done, u.Why.Err)
	return &failed
}

// block adds a node whose drain was blocked.
func (u *Undrained) block(n contract.Node, why *task.Error) {
	u.Nodes = append(u.Nodes, n)
	if u.Why == nil {
		u.Why = why
	} else {
		u.Why.Others = append(u.Why.Others, n.Name)
	}
}

// Drain moves the pods of some nodes to other nodes. First it cordons all of the nodes, so that no
// pod moves to another one of them. Then it drains them one after the other, so that the cluster
// never loses more pods at the same time than one node has. It does not wait until the pods run
// elsewhere: the PodDisruptionBudgets of a workload decide how many may be missing.
//
// It returns the nodes that could not be drained, and those for which the time was too short, or that wait because
// the run is asked to end. They accept pods again, and the run goes on with the others. An error means that the run
// ends: then all of the nodes accept pods again.
func (d Drainer) Drain(ctx context.Context, nodes []contract.Node) (Undrained, error) {
	if len(nodes) == 0 {
		return Undrained{}, nil
	}
	if d.Client.ends(ctx) {
		return Undrained{Nodes: nodes, Asked: true}, nil
	}
	users, err := d.Client.cordoned(ctx)
	if err != nil {
		return Undrained{}, Unanswered("find the cordoned nodes", err)
	}
	ours := func(name string) bool { return !users[name] || slices.Contains(d.Members.Now.Draining, name) }
	all := slices.DeleteFunc(session.Names(nodes), func(name string) bool { return !ours(name) })
	if err := d.Members.Change(ctx, func(next *contract.Installed) { next.Draining = session.With(next.Draining, all) }); err != nil {
		return Undrained{}, err
	}
	left, err := d.drainAll(ctx, nodes)
	again := session.Intersect(all, session.Names(left.Nodes))
	if err != nil {
		again = all
	}
	undo, cancel := Undoing(ctx)
	defer cancel()
	if failed := Uncordon(undo, d.Client, d.Members, again, d.Ports); failed != nil {
		fmt.Fprintf(d.Ports.Log, "  %v; the next attempt does this\n", failed)
	}
	return left, err
}

// Undoing returns a context for uncordoning nodes after a failure. A cancelled run should leave no cordoned
// node; if it does, the next run uncordons it.
func Undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
}

func (d Drainer) drainAll(ctx context.Context, nodes []contract.Node) (left Undrained, err error) {
	for _, n := range nodes {
		if err := d.Client.cordon(ctx, n.Name, true); err != nil {
			return left, Unanswered("cordon node "+n.Name, err)
		}
	}
	if d.Limit <= 0 {
		return left, nil
	}
	begun := time.Now()
	for i, n := range nodes {
		if i > 0 && d.Client.ends(ctx) {
			fmt.Fprintf(d.Ports.Log, "\nAnother change of the cluster comes first. These nodes wait for the next run: %s\n", session.JoinNames(nodes[i:]))
			left.Nodes, left.Asked = append(left.Nodes, nodes[i:]...), true
			break
		}
		if d.Begins > 0 && i > 0 && time.Since(begun) > d.Begins {
			fmt.Fprintf(d.Ports.Log, "\nThe drains have taken %s, so these nodes wait for the next run: %s\n", time.Since(begun).Round(time.Second), session.JoinNames(nodes[i:]))
			left.Nodes = append(left.Nodes, nodes[i:]...)
			break
		}
		if slices.Contains(d.Dead, n.Name) {
			fmt.Fprintf(d.Ports.Log, "\nNode %s does not work, so it is not drained\n", n.Name)
			continue
		}
		report := func(done float64, step string) { d.Report((float64(i)+done)/float64(len(nodes)), step) }
		var blocked *task.Error
		switch err := d.drainNode(ctx, n.Name, report); {
		case errors.As(err, &blocked) && blocked.Reason == contract.ReasonDrainBlocked:
			fmt.Fprintf(d.Ports.Log, "  %v\n", err)
			left.block(n, blocked)
		case err != nil:
			return left, err
		}
	}
	return left, nil
}

// cordoned returns which nodes are cordoned. A node that a user has cordoned before its drain is not
// uncordoned if the drain fails.
func (w *Client) cordoned(ctx context.Context) (map[string]bool, error) {
	nodes, err := w.NodeList(ctx)
	is := map[string]bool{}
	for _, n := range nodes {
		is[n.Name] = n.Spec.Unschedulable
	}
	return is, err
}

// NodeList returns the Node objects of the cluster.
func (w *Client) NodeList(ctx context.Context) ([]corev1.Node, error) {
	return Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) ([]corev1.Node, error) {
		list, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the nodes of the cluster: %w", err)
		}
		return list.Items, nil
	})
}

// cordon keeps new pods off a node, or lets it accept them again.
func (w *Client) cordon(ctx context.Context, name string, on bool) error {
	return w.Do(ctx, func(ctx context.Context, kube kubernetes.Interface) error { return drain.Cordon(ctx, kube, name, on) })
}

// Uncordon lets nodes accept pods again, and takes them out of the list Draining of the record. Names of nodes that
// do not exist are only taken out.
func Uncordon(ctx context.Context, w *Client, members *session.ClusterRecord, names []string, ports session.Ports) error {
	if len(names) == 0 {
		return nil
	}
	registered, err := w.Registered(ctx)
	if err != nil {
		return Unanswered("uncordon "+strings.Join(names, ", "), err)
	}
	known := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, there := registered[name]
		return !there || !session.KubernetesName.MatchString(name)
	})
	for _, name := range known {
		if err := w.cordon(ctx, name, false); err != nil && !apierrors.IsNotFound(err) {
			return Unanswered("uncordon "+strings.Join(known, ", "), err)
		}
	}
	if len(known) > 0 {
		fmt.Fprintf(ports.Log, "Accept pods again: %s\n", strings.Join(known, ", "))
	}
	return members.Change(ctx, func(next *contract.Installed) { next.Draining = session.Without(next.Draining, names) })
}

// endDrains uncordons the nodes that an earlier run began to drain, if their removal is not wanted
// any more.
func endDrains(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, ports session.Ports, members *session.ClusterRecord) error {
	names := session.Without(members.Now.Draining, members.Now.Leaving)
	if len(names) == 0 {
		return nil
	}
	w, err := Connect(ctx, in, node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		return err
	}
	defer w.Close()
	return Uncordon(ctx, w, members, names, ports)
}

// drainNode evicts the pods of one node, and waits until they have ended and their volumes are
// detached. report is as in drainage.
func (d Drainer) drainNode(ctx context.Context, name string, report func(done float64, step string)) error {
	limited, cancel := context.WithTimeout(ctx, d.Limit)
	defer cancel()
	one := drainage{w: d.Client, name: name, limit: d.Limit, stays: d.Stays, ours: slices.Contains(d.Members.Now.Draining, name), log: d.Ports.Log, report: report}
	fmt.Fprintf(d.Ports.Log, "\nDraining node %s, at most %s\n", name, d.Limit)
	for {
		done, err := one.round(limited)
		if limited.Err() != nil {
			break
		}
		if errors.Is(err, errDied) {
			return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: name, Step: "drain the node", Err: fmt.Errorf("node %s: %w", name, err)}
		}
		if err != nil {
			one.said = err.Error()
		}
		if done {
			report(1, "Drain "+name)
			return nil
		}
		pause := time.NewTimer(d.Client.Input.PollInterval()) // an attempt may end at once
		select {
		case <-pause.C:
		case <-limited.Done():
			pause.Stop()
		}
	}
	if err := session.Stopped(ctx, "the drain of node "+name); err != nil {
		return err
	}
	return one.blocked(ctx)
}

var errNoAPI = errors.New("no API server answers")

// Registered returns the nodes of the cluster by name, and whether they are Ready.
func (w *Client) Registered(ctx context.Context) (map[string]bool, error) {
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	ready, err := w.nodes(ctx)
	if err == nil && ready == nil {
		err = errNoAPI
	}
	if err != nil {
		w.Close()
	}
	return ready, err
}

// Unanswered returns the error, with its failure reason, of a command for the cluster's API server.
func Unanswered(what string, err error) error {
	return task.Because(contract.ReasonAPIUnavailable, fmt.Errorf("%s: %w", what, err))
}
