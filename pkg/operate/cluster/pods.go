package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// mirrorAnnotation is on the API object of a static pod. Such a pod cannot be evicted.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// pod holds the fields of a pod that decide whether it must leave a node.
type pod struct {
	Metadata struct {
		Namespace, Name   string
		DeletionTimestamp *time.Time
		Labels            map[string]string
		Annotations       map[string]string
		OwnerReferences   []struct{ Kind string }
	}
	Status struct{ Phase string }
}

// movable reports whether a drain removes the pod and waits until it has ended.
func (p pod) movable() bool {
	var owners []string
	for _, o := range p.Metadata.OwnerReferences {
		owners = append(owners, o.Kind)
	}
	return movable(p.Status.Phase, p.Metadata.Annotations[mirrorAnnotation], owners)
}

func movable(phase, mirror string, owners []string) bool {
	return mirror == "" && phase != "Succeeded" && phase != "Failed" && !slices.Contains(owners, "DaemonSet")
}

// String returns NAMESPACE/NAME for a message.
func (p pod) String() string { return session.Printable(p.Metadata.Namespace + "/" + p.Metadata.Name) }

// podsOn returns the pods that a drain of the node must remove.
func (w *Client) podsOn(ctx context.Context, name string) ([]pod, error) {
	var list struct{ Items []pod }
	if err := w.Get(ctx, "pods --all-namespaces --field-selector spec.nodeName="+name, &list); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p pod) bool { return !p.movable() }), nil
}

// Get reads objects of the cluster into a value, as json.Unmarshal does. what are the arguments of kubectl get: the kind,
// and options.
func (w *Client) Get(ctx context.Context, what string, into any) error {
	raw, err := w.Ask(ctx, "get "+what+" --output json --request-timeout=30s", MaxObjects)
	if err != nil {
		return fmt.Errorf("read %s of the cluster: %w", kindOf(what), err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s of the cluster: the output of kubectl is unreadable: %w", kindOf(what), err)
	}
	return nil
}

// kindOf returns the first word of the arguments of kubectl get.
func kindOf(what string) string {
	kind, _, _ := strings.Cut(what, " ")
	return kind
}

// podFields lets kubectl print only what countPods needs, since a cluster can have many pods: a
// line for each with its node, its phase, the mark of a static pod, and the kinds of its owners.
const podFields = `--output jsonpath='{range .items[*]}{.spec.nodeName}{"\t"}{.status.phase}{"\t"}` +
	`{.metadata.annotations.kubernetes\.io/config\.mirror}{"\t"}{.metadata.ownerReferences[*].kind}{"\n"}{end}'`

// PodsPerNode returns the number of pods on each node that a drain would remove.
func (w *Client) PodsPerNode(ctx context.Context) (map[string]int, error) {
	raw, err := w.Ask(ctx, "get pods --all-namespaces --request-timeout=30s "+podFields, MaxObjects)
	if err != nil {
		return nil, fmt.Errorf("count the pods of the cluster: %w", err)
	}
	return countPods(raw), nil
}

func countPods(raw []byte) map[string]int {
	n := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		field := strings.Split(lines.Text(), "\t")
		if len(field) == 4 && field[0] != "" && movable(field[1], field[2], strings.Fields(field[3])) {
			n[field[0]]++
		}
	}
	return n
}

// budget holds the fields of a PodDisruptionBudget that decide whether a pod may be evicted.
type budget struct {
	Metadata struct{ Namespace, Name string }
	Spec     struct{ Selector *metav1.LabelSelector }
	Status   struct{ DisruptionsAllowed int }
}

func (b budget) String() string {
	return session.Printable(b.Metadata.Namespace + "/" + b.Metadata.Name)
}

// covers reports whether the budget counts the pod.
func (b budget) covers(p pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector) // no selector: no pod; an empty one: all pods
	return err == nil && b.Metadata.Namespace == p.Metadata.Namespace && selector.Matches(labels.Set(p.Metadata.Labels))
}

// obstacle returns why a pod has not left its node, and the budget that the user can look at; nil:
// no budget prevents its eviction.
func obstacle(p pod, budgets []budget) (why string, blocking *budget) {
	var covering []budget
	for _, b := range budgets {
		if b.covers(p) {
			covering = append(covering, b)
		}
	}
	zero := slices.IndexFunc(covering, func(b budget) bool { return b.Status.DisruptionsAllowed <= 0 })
	switch {
	case p.Metadata.DeletionTimestamp != nil:
		return "it is still terminating", nil
	case len(covering) > 1:
		return fmt.Sprintf("%d PodDisruptionBudgets cover it, such as %s, and then no eviction is allowed", len(covering), covering[0]), &covering[0]
	case zero >= 0:
		return "PodDisruptionBudget " + covering[zero].String() + " allows no disruption", &covering[zero]
	}
	return "it was not evicted", nil
}
