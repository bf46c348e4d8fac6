package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// agent returns a DaemonSet with this status.
func agent(t *testing.T, status string) *unstructured.Unstructured {
	o := object(t, "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: shelf, generation: 2, annotations: {"+annotationGeneration+": '7'}}, "+
		"spec: {selector: {matchLabels: {app: agent}}}, status: "+status+"}")
	return labelled(o, "own")
}

// podOn returns a pod of that DaemonSet.
func podOn(node, generation string, ready corev1.ConditionStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node, Namespace: "shelf", Labels: map[string]string{"app": "agent", labelGeneration: generation},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "uid-agent", Controller: ptr.To(true)}}},
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestReadyElsewhere(t *testing.T) {
	const status = "{observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 1, numberReady: 1, numberAvailable: 1}"
	dead := podOn("dead", "6", corev1.ConditionFalse)
	unscheduled := podOn("", "7", corev1.ConditionFalse)
	unscheduled.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"dead"}}}}}}}}
	elsewhere := *unscheduled.DeepCopy()
	elsewhere.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0] = "a"
	deleted := podOn("a", "7", corev1.ConditionTrue)
	deleted.DeletionTimestamp = &metav1.Time{}
	for name, tc := range map[string]struct {
		status string
		pods   []corev1.Pod
		want   bool
	}{
		"ready on the ready node":        {status, []corev1.Pod{podOn("a", "7", corev1.ConditionTrue), dead}, true},
		"not scheduled on the dead node": {status, []corev1.Pod{podOn("a", "7", corev1.ConditionTrue), unscheduled}, true},
		"not ready on a ready node":      {status, []corev1.Pod{podOn("a", "7", corev1.ConditionFalse), dead}, false},
		"not scheduled on a ready node":  {status, []corev1.Pod{podOn("b", "7", corev1.ConditionTrue), elsewhere}, false},
		"of the former template":         {status, []corev1.Pod{podOn("a", "6", corev1.ConditionTrue), dead}, false},
		"being deleted":                  {status, []corev1.Pod{deleted, dead}, false},
		"only on the dead node":          {status, []corev1.Pod{dead}, false},
		"a node without a pod":           {strings.Replace(status, "currentNumberScheduled: 2", "currentNumberScheduled: 1", 1), []corev1.Pod{podOn("a", "7", corev1.ConditionTrue)}, false},
		"an old status":                  {strings.Replace(status, "observedGeneration: 2", "observedGeneration: 1", 1), []corev1.Pod{podOn("a", "7", corev1.ConditionTrue), dead}, false},
		"all counted as updated":         {strings.Replace(status, "updatedNumberScheduled: 1", "updatedNumberScheduled: 2", 1), []corev1.Pod{podOn("a", "5", corev1.ConditionTrue), dead}, true},
	} {
		if got := readyElsewhere(agent(t, tc.status), tc.pods, []string{"dead"}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A dead node does not keep a plugin from being ready, also if the node dies while the plugin is waited for.
func TestReadyWithDeadNode(t *testing.T) {
	const status = "{observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 1, numberAvailable: 1}"
	o := agent(t, status)
	node := func(name string, ready corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	}
	a := newFake(t, o, object(t, "{apiVersion: v1, kind: Node, metadata: {name: dead, resourceVersion: '1'}}"))
	live, gone := podOn("a", "7", corev1.ConditionTrue), podOn("dead", "7", corev1.ConditionFalse)
	for _, n := range []*corev1.Node{node("a", corev1.ConditionTrue), node("dead", corev1.ConditionTrue)} {
		if _, err := a.kube.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []corev1.Pod{live, gone} {
		if _, err := a.kube.CoreV1().Pods("shelf").Create(t.Context(), &p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Ready(t.Context(), "own", []*unstructured.Unstructured{o}, 300*time.Millisecond); !IsNotReady(err) || !strings.Contains(err.Error(), "1/2") {
		t.Fatalf("while both nodes are ready: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- a.Ready(ctx, "own", []*unstructured.Unstructured{o}, 15*time.Second) }()
	if _, err := a.kube.CoreV1().Nodes().UpdateStatus(ctx, node("dead", corev1.ConditionUnknown), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := a.dynamic.Tracker().Update(nodeKind.resource, object(t, "{apiVersion: v1, kind: Node, metadata: {name: dead, resourceVersion: '2'}}"), ""); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || !strings.Contains(a.log.String(), "DaemonSet shelf/agent is ready on all nodes but those that are not ready: dead") {
		t.Errorf("%v; log: %s", err, a.log.String())
	}
}
