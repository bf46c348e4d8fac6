package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
)

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

// PodsPerNode returns the number of pods on each node that a drain would remove. A cluster can have many pods, so it
// keeps none of them, and asks for them in parts.
func (w *Client) PodsPerNode(ctx context.Context) (map[string]int, error) {
	return Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) (map[string]int, error) {
		n := map[string]int{}
		list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		}
		err := pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
			if p, is := o.(*corev1.Pod); is && p.Spec.NodeName != "" && leaves(*p) {
				n[p.Spec.NodeName]++
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("count the pods of the cluster: %w", err)
		}
		return n, nil
	})
}

// leaves reports whether a drain waits for the end of a pod. It is the rule of package drain without its questions for each
// pod, for a number by which nodes are chosen.
func leaves(p corev1.Pod) bool {
	_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
	return !static && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed &&
		!slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
}
