package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
)

// Names that the controller of DaemonSets uses: the label of a pod with the generation of its template, and
// the annotation of the DaemonSet with the present one.
const (
	labelGeneration      = "pod-template-generation"
	annotationGeneration = "deprecated.daemonset.template.generation"
)

// nodeKind are the nodes of the cluster.
var nodeKind = kind{resource: corev1.SchemeGroupVersion.WithResource("nodes"), watched: true}

func isDaemonSet(o *unstructured.Unstructured) bool {
	return o.GetKind() == "DaemonSet" && groupOf(o.GetAPIVersion()) == "apps"
}

// seeDaemonSets judges DaemonSets that are not ready by their pods, after a change of the DaemonSet or of a
// node. The status of a DaemonSet also counts the nodes that are not ready, so that with one dead node it
// would never be ready.
func (c *Client) seeDaemonSets(ctx context.Context, w *waiting, one change) error {
	if one.object == nil {
		return nil
	}
	node := one.object.GetKind() == "Node" && one.object.GetAPIVersion() == "v1"
	for id, v := range w.verdicts {
		if v.ready || v.latest == nil || !isDaemonSet(v.latest) || !node && refOf(one.object).id() != id {
			continue
		}
		dead, err := c.readyWithout(ctx, v.latest)
		if err != nil {
			return err
		}
		if len(dead) > 0 {
			fmt.Fprintf(c.log, "  %s is ready on all nodes but those that are not ready: %s\n", v.ref, strings.Join(dead, ", "))
			v.ready = true
			w.verdicts[id] = v
		}
	}
	return nil
}

// readyWithout returns the nodes that are not ready, if a DaemonSet is ready on the others.
func (c *Client) readyWithout(ctx context.Context, o *unstructured.Unstructured) ([]string, error) {
	nodes, err := c.notReadyNodes(ctx)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	labels := selectorOf(o)
	if labels == "" {
		return nil, nil
	}
	var pods []corev1.Pod
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return c.kube.CoreV1().Pods(o.GetNamespace()).List(ctx, options)
	}))
	err = list.EachListItem(ctx, metav1.ListOptions{LabelSelector: labels}, func(one runtime.Object) error {
		if pod, ok := one.(*corev1.Pod); ok && metav1.IsControlledBy(pod, o) {
			pods = append(pods, *pod)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", refOf(o), err)
	}
	if !readyElsewhere(o, pods, nodes) {
		return nil, nil
	}
	return nodes, nil
}

// notReadyNodes returns the names, sorted, of the nodes that are not ready.
func (c *Client) notReadyNodes(ctx context.Context) (names []string, err error) {
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return c.kube.CoreV1().Nodes().List(ctx, options)
	}))
	err = list.EachListItem(ctx, metav1.ListOptions{}, func(one runtime.Object) error {
		if node, ok := one.(*corev1.Node); ok && !isReadyNode(node) {
			names = append(names, node.Name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of the cluster: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

func isReadyNode(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// readyElsewhere reports whether a DaemonSet has a pod for each of its nodes, and the pods on all nodes but
// those given are of its present template and ready. There must be such a pod: that none has been seen to
// run is no sign of success.
func readyElsewhere(o *unstructured.Unstructured, pods []corev1.Pod, notReady []string) bool {
	number := func(path ...string) int64 { n, _, _ := unstructured.NestedInt64(o.Object, path...); return n }
	desired := number("status", "desiredNumberScheduled")
	if number("status", "observedGeneration") != o.GetGeneration() || number("status", "currentNumberScheduled") < desired {
		return false
	}
	generation := o.GetAnnotations()[annotationGeneration]
	updated := number("status", "updatedNumberScheduled") >= desired
	found := false
	for i := range pods {
		switch pod := &pods[i]; {
		case slices.Contains(notReady, nodeOf(pod)):
		case !isReadyPod(pod) || !updated && (generation == "" || pod.Labels[labelGeneration] != generation):
			return false
		default:
			found = true
		}
	}
	return found
}

// nodeOf returns the node for which the controller has made a pod of a DaemonSet, also before the pod is
// scheduled.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" || pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return pod.Spec.NodeName
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return ""
	}
	for _, term := range required.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

func isReadyPod(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
