package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubectl/pkg/drain"

	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// retryAfter is the time between two attempts to evict a pod that its PodDisruptionBudget keeps.
const retryAfter = 5 * time.Second

// pageSize is the number of objects in one answer.
const pageSize = 500

// helper has the rules of all drains. Pods of DaemonSets stay, because they would be created again on the same node. Data
// in emptyDir volumes is lost with the node in any case. Pods without a controller are evicted too, and no other
// node starts them again: without Force, no pod would be evicted at all.
func helper(ctx context.Context, kube kubernetes.Interface) *drain.Helper {
	return &drain.Helper{
		Ctx: ctx, Client: kube, Force: true, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true, GracePeriodSeconds: -1, ChunkSize: pageSize,
		EvictErrorRetryDelay: retryAfter, Out: io.Discard, ErrOut: io.Discard,
	}
}

// Left returns the pods that a drain of the node must remove and that have not ended.
func Left(ctx context.Context, kube kubernetes.Interface, node string) ([]corev1.Pod, error) {
	list, errs := helper(ctx, kube).GetPodsForDeletion(node)
	if len(errs) > 0 {
		return nil, fmt.Errorf("list the pods on node %s: %w", node, errors.Join(errs...))
	}
	return slices.DeleteFunc(list.Pods(), func(p corev1.Pod) bool { return ended(p) }), nil
}

func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Evict evicts all pods that must leave the node, and waits until they have ended, at most for the limit. started is
// called with each of them when its eviction begins; nil: it is not.
//
// If pods are left then, the error is of kind *Incomplete. The node must be cordoned, or new pods take their place.
func Evict(ctx context.Context, kube kubernetes.Interface, node string, limit time.Duration, started func(corev1.Pod)) error {
	h := helper(ctx, kube)
	list, errs := h.GetPodsForDeletion(node)
	if len(errs) > 0 {
		return fmt.Errorf("list the pods on node %s: %w", node, errors.Join(errs...))
	}
	var refused lastRefusal
	begun := map[string]bool{} // the library reports each attempt
	h.Timeout, h.ErrOut, h.EvictErrorRetryDelay = limit, &refused, min(retryAfter, max(limit/4, time.Millisecond))
	for _, p := range list.Pods() {
		if key := p.Namespace + "/" + p.Name; started != nil && !begun[key] {
			begun[key] = true
			started(p)
		}
	}
	if err := h.DeleteOrEvictPods(list.Pods()); err != nil {
		return &Incomplete{Err: err, Refusal: refused.text()}
	}
	return nil
}

// Incomplete is the error of a drain after which pods are left.
type Incomplete struct {
	Err     error
	Refusal string // what the API server has said last about an eviction that it refused; empty: it refused none
}

func (e *Incomplete) Error() string {
	text := task.Printable(e.Err.Error(), 600)
	if e.Refusal != "" {
		text += "; " + e.Refusal
	}
	return text
}

// Unwrap returns the error of the library.
func (e *Incomplete) Unwrap() error { return e.Err }

// Cordon keeps new pods off a node, or lets it accept them again. It changes nothing on a node that is so already.
func Cordon(ctx context.Context, kube kubernetes.Interface, node string, on bool) error {
	n, err := kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return drain.RunCordonOrUncordon(helper(ctx, kube), n, on)
}
