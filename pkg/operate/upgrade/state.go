package upgrade

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

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// heartbeatLimit is the time in which a kubelet that works renews its lease: the lease is valid for
// 40 s, and the kubelet renews it every 10 s.
const heartbeatLimit = 30 * time.Second

// heartbeats returns, for each node, a text that changes with every heartbeat of its kubelet.
func heartbeats(ctx context.Context, w *cluster.Client) (map[string]string, error) {
	return cluster.Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) (map[string]string, error) {
		list, err := kube.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the leases of the nodes: %w", err)
		}
		all := map[string]string{}
		for _, lease := range list.Items {
			all[lease.Name] = lease.ResourceVersion
		}
		return all, nil
	})
}

// leaderVersion returns a text that changes each time the leading controller manager renews its lease; empty: there is no lease.
func leaderVersion(ctx context.Context, w *cluster.Client) (string, error) {
	return cluster.Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) (string, error) {
		lease, err := kube.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, "kube-controller-manager", metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return "", nil
		case err != nil:
			return "", fmt.Errorf("read the lease of the controller manager: %w", err)
		}
		return lease.ResourceVersion, nil
	})
}

// kubelets returns the version of the kubelet of each node, such as v1.35.4.
func kubelets(ctx context.Context, w *cluster.Client) (map[string]string, error) {
	nodes, err := w.NodeList(ctx)
	all := map[string]string{}
	for _, n := range nodes {
		all[n.Name] = n.Status.NodeInfo.KubeletVersion
	}
	return all, err
}

// failed uncordons those nodes of the batch that work, and returns the error of the run with the state
// of each node. A node that does not work stays cordoned, so that no pod moves to it before a user
// has repaired it.
func (u *upgrader) failed(ctx context.Context, err error) error {
	if session.Stopped(ctx, "") != nil {
		return err // there is no time to examine the nodes; run releases those that are Ready
	}
	states, working := u.examine(ctx)
	if undo := cluster.Uncordon(ctx, u.w, u.members, session.Intersect(u.members.Now.Draining, working), u.ports); undo != nil {
		fmt.Fprintf(u.ports.Log, "  %v; the next attempt does this\n", undo)
	}
	var known *task.Error
	if !errors.As(err, &known) {
		known = &task.Error{Reason: contract.ReasonInternal, Err: err}
	}
	failed := *known
	failed.Err = fmt.Errorf("the %s is not complete: %s. No other node was changed. %w", u.work(), strings.Join(states, "; "), known.Err)
	return &failed
}

// release uncordons the Ready nodes of the batch, also after the run was cancelled.
func (u *upgrader) release(ctx context.Context) {
	undo, cancel := cluster.Undoing(ctx)
	defer cancel()
	ready, err := u.w.Registered(undo)
	if err == nil {
		names := session.Intersect(u.members.Now.Draining, session.Names(u.batch))
		err = cluster.Uncordon(undo, u.w, u.members, slices.DeleteFunc(names, func(name string) bool { return !ready[name] }), u.ports)
	}
	if err != nil {
		fmt.Fprintf(u.ports.Log, "  uncordon %s: %v; the next attempt does this\n", session.JoinNames(u.batch), err)
	}
}

// examine describes each node of the batch after a failure, and returns the names of those that work.
// A node works if it is Ready and has sent a heartbeat after the failure.
func (u *upgrader) examine(ctx context.Context) (states, working []string) {
	limited, cancel := context.WithTimeout(ctx, min(heartbeatLimit, u.in.HealthLimit))
	defer cancel()
	working, known := u.awaitWorking(limited)
	if !known {
		return []string{"the state of " + session.JoinNames(u.batch) + " is not known, because no API server answers"}, nil
	}
	kubelets, err := kubelets(ctx, u.w)
	if err != nil {
		kubelets = map[string]string{} // the states are complete without the versions
	}
	for _, n := range u.batch {
		version := ""
		if v := kubelets[n.Name]; v != "" {
			version = " (" + session.Printable(v) + ")"
		}
		switch {
		case u.upgraded(n.Name):
			states = append(states, n.Name+version+" is "+u.verb())
		case slices.Contains(working, n.Name):
			states = append(states, n.Name+version+" works, but is not "+u.verb())
		default:
			states = append(states, fmt.Sprintf("%s%s does not work and stays cordoned: repair it, then run: %s", n.Name, version, u.retry()))
		}
	}
	return states, working
}

// awaitWorking returns the nodes of the batch that are Ready and have sent a heartbeat since the first
// look. It waits for all of them until the context ends. It returns false if no API server answers.
func (u *upgrader) awaitWorking(ctx context.Context) (working []string, known bool) {
	tick := time.NewTicker(u.in.PollInterval())
	defer tick.Stop()
	for first := map[string]string(nil); ; {
		ready, err := u.w.Registered(ctx)
		var beats map[string]string
		if err == nil {
			beats, err = heartbeats(ctx, u.w)
		}
		if err == nil {
			working, known = nil, true
			if first == nil {
				first = beats
			}
			for _, n := range u.batch {
				if ready[n.Name] && beats[n.Name] != "" && beats[n.Name] != first[n.Name] {
					working = append(working, n.Name)
				}
			}
		}
		if len(working) == len(u.batch) {
			return working, known
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return working, known
		}
	}
}
