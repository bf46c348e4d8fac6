package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// rollout is a Deployment or a DaemonSet with the progress of its last change.
type rollout struct {
	kind, namespace, name string
	// generation counts the changes of the object, and seen is the last one that its controller has seen.
	generation, seen int64
	// wanted, all, updated and available are numbers of pods; all includes old ones. For a DaemonSet,
	// all is not known and has the number of updated ones.
	wanted, all, updated, available int
}

// rollouts returns the Deployments and the DaemonSets of a namespace.
func rollouts(ctx context.Context, w *cluster.Client, namespace string) ([]rollout, error) {
	return cluster.Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) (all []rollout, err error) {
		deployments, err := kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the Deployments of namespace %s: %w", namespace, err)
		}
		daemons, err := kube.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the DaemonSets of namespace %s: %w", namespace, err)
		}
		for _, d := range deployments.Items {
			all = append(all, ofDeployment(d))
		}
		for _, d := range daemons.Items {
			all = append(all, ofDaemonSet(d))
		}
		return all, nil
	})
}

func ofDeployment(d appsv1.Deployment) rollout {
	return rollout{kind: "Deployment", namespace: d.Namespace, name: session.Printable(d.Name), generation: d.Generation, seen: d.Status.ObservedGeneration,
		wanted: int(ptr.Deref(d.Spec.Replicas, 1)), all: int(d.Status.Replicas), updated: int(d.Status.UpdatedReplicas), available: int(d.Status.AvailableReplicas)}
}

func ofDaemonSet(d appsv1.DaemonSet) rollout {
	r := rollout{kind: "DaemonSet", namespace: d.Namespace, name: session.Printable(d.Name), generation: d.Generation, seen: d.Status.ObservedGeneration,
		wanted: int(d.Status.DesiredNumberScheduled), updated: int(d.Status.UpdatedNumberScheduled), available: int(d.Status.NumberAvailable)}
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType { // a user replaces its pods
		r.updated = r.wanted
	}
	r.all = r.updated
	return r
}

// trouble returns what is still to be rolled out; empty: nothing. lost is the number of lost nodes. A
// DaemonSet has a pod on each of them that never becomes available.
func (r rollout) trouble(lost int) string {
	wanted := r.wanted
	if r.kind == "DaemonSet" {
		wanted = max(0, wanted-lost)
	}
	name := fmt.Sprintf("%s %s/%s", r.kind, r.namespace, r.name)
	switch {
	case r.seen < r.generation:
		return name + " was changed, and its controller has not seen the change yet"
	case r.updated < wanted || r.all > r.updated:
		return fmt.Sprintf("%s has %d of %d new pods, and %d old ones", name, r.updated, r.wanted, max(0, r.all-r.updated))
	case r.available < wanted:
		return fmt.Sprintf("%s has %d of %d pods available", name, r.available, r.wanted)
	}
	return ""
}

// awaitRollouts waits until the context ends for the Deployments and DaemonSets of the namespaces. It
// returns what is not rolled out then; empty: everything is. Where the last read failed, it returns the
// error and what the last answer had said.
func (c *configurer) awaitRollouts(ctx context.Context) string {
	tick := time.NewTicker(c.in.PollInterval())
	defer tick.Stop()
	answer, silent, logged := "", "the control plane does not answer", ""
	for {
		why, err := c.notRolledOut(ctx)
		switch {
		case err == nil && why == "":
			return ""
		case err == nil:
			answer, silent = why, ""
		case ctx.Err() == nil:
			silent = err.Error()
		}
		now := cmp.Or(silent, answer)
		if now != logged {
			fmt.Fprintf(c.ports.Log, "  %s\n", now)
			logged = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if silent != "" && answer != "" {
				return fmt.Sprintf("%s; the last answer: %s", silent, answer)
			}
			return now
		}
	}
}

// notRolledOut returns the first problem of the namespaces; empty: there is none.
func (c *configurer) notRolledOut(ctx context.Context) (string, error) {
	lost := 0
	for _, n := range c.members.Now.Nodes {
		if c.lost(n.Name) {
			lost++
		}
	}
	for _, namespace := range c.narrow.Namespaces {
		all, err := rollouts(ctx, c.w, namespace)
		if err != nil {
			return "", err
		}
		for _, r := range all {
			if why := r.trouble(lost); why != "" {
				return why, nil
			}
		}
	}
	return "", nil
}
