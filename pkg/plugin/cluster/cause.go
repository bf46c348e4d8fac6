package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
)

// causeWithin bounds the time to find the cause of a failure.
const causeWithin = 20 * time.Second

// cause returns what keeps an object from being ready: the worst of its pods, and the last warning about
// that pod or the object. Empty: nothing is known.
func (c *Client) cause(ctx context.Context, v verdict) string {
	if v.latest == nil || v.ref.Namespace == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, causeWithin)
	defer cancel()
	text, of := "", v.ref.Name
	if labels := selectorOf(v.latest); labels != "" {
		if pods, err := c.kube.CoreV1().Pods(v.ref.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels, Limit: mostListed}); err == nil {
			if pod, why := worst(pods.Items); pod != nil {
				text, of = fmt.Sprintf("pod %s%s: %s", pod.Name, onNode(pod), why), pod.Name
			}
		}
	}
	if event := c.lastWarning(ctx, v.ref.Namespace, of); event != "" && !strings.Contains(text, event) {
		if text != "" {
			text += "; "
		}
		text += "last event: " + event
	}
	return text
}

// selectorOf returns the selector of a workload's pods; empty: it has none.
func selectorOf(o *unstructured.Unstructured) string {
	raw, ok, _ := unstructured.NestedMap(o.Object, "spec", "selector")
	if !ok {
		return ""
	}
	labels, ok, _ := unstructured.NestedStringMap(raw, "matchLabels")
	if !ok {
		return ""
	}
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
}

func onNode(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return ""
	}
	return " on node " + pod.Spec.NodeName
}

// worst returns the pod with the clearest sign of trouble; nil: all pods are fine.
func worst(pods []corev1.Pod) (found *corev1.Pod, why string) {
	rank := 0
	for i := range pods {
		if r, text := trouble(&pods[i]); r > rank {
			found, why, rank = &pods[i], text, r
		}
	}
	return found, why
}

// trouble returns what is wrong with a pod, and how clear that is; 0: nothing is.
func trouble(pod *corev1.Pod) (rank int, why string) {
	for _, s := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		r, text := troubleOf(s)
		if r > rank {
			rank, why = r, fmt.Sprintf("container %s %s", s.Name, text)
		}
	}
	if rank > 0 {
		return rank, why
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return 2, c.Message
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return 2, strings.TrimSpace(pod.Status.Reason + " " + pod.Status.Message)
	}
	if pod.Status.Phase == corev1.PodPending {
		return 1, "it is pending"
	}
	return 0, ""
}

func troubleOf(s corev1.ContainerStatus) (rank int, text string) {
	last := s.LastTerminationState.Terminated
	switch {
	case s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" && last != nil:
		return 5, fmt.Sprintf("crashes: %s, exit status %d%s", last.Reason, last.ExitCode, detail(last.Message))
	case s.State.Waiting != nil && strings.HasPrefix(s.State.Waiting.Reason, "ErrImage"), s.State.Waiting != nil && strings.HasPrefix(s.State.Waiting.Reason, "ImagePull"):
		return 5, fmt.Sprintf("waits: %s of %s%s", s.State.Waiting.Reason, s.Image, detail(s.State.Waiting.Message))
	case s.State.Waiting != nil && s.State.Waiting.Reason != "ContainerCreating" && s.State.Waiting.Reason != "PodInitializing":
		return 4, fmt.Sprintf("waits: %s%s", s.State.Waiting.Reason, detail(s.State.Waiting.Message))
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		return 4, fmt.Sprintf("has ended with exit status %d%s", s.State.Terminated.ExitCode, detail(s.State.Terminated.Message))
	case s.State.Waiting != nil:
		return 2, "waits: " + s.State.Waiting.Reason
	case s.State.Running != nil && !s.Ready:
		return 3, "runs, but is not ready"
	}
	return 0, ""
}

// detail returns a text as the rest of a sentence.
func detail(text string) string {
	if text = oneLine(text, 200); text == "" {
		return ""
	}
	return ": " + text
}

// lastWarning returns the last warning about an object.
func (c *Client) lastWarning(ctx context.Context, namespace, name string) string {
	list, err := c.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{Limit: mostListed, FieldSelector: fields.AndSelectors(
		fields.OneTermEqualSelector("involvedObject.name", name), fields.OneTermEqualSelector("type", corev1.EventTypeWarning)).String()})
	if err != nil {
		return ""
	}
	text, latest := "", time.Time{}
	for _, e := range list.Items {
		at := e.LastTimestamp.Time
		if at.IsZero() {
			at = e.EventTime.Time
		}
		if text == "" || at.After(latest) {
			text, latest = bothEnds(e.Reason+": "+e.Message), at
		}
	}
	return text
}

// Lengths of the parts of a long text that bothEnds keeps, in bytes.
const (
	keptBegin = 60
	keptEnd   = 200
)

// bothEnds returns a text in one line, without its middle if it is long: the last words of an error of a
// kubelet are its cause.
func bothEnds(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "")
	if len(text) <= keptBegin+keptEnd {
		return text
	}
	return strings.ToValidUTF8(text[:keptBegin], "") + " ... " + strings.ToValidUTF8(text[len(text)-keptEnd:], "")
}

// oneLine returns a text in one line of at most max bytes.
func oneLine(text string, max int) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "")
	if len(text) > max {
		text = strings.ToValidUTF8(text[:max-3], "") + "..."
	}
	return text
}
