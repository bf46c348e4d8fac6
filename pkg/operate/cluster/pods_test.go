package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The pods of DaemonSets, static pods and those that have ended do not count.
func TestLeaves(t *testing.T) {
	pod := func(phase corev1.PodPhase, static bool, owners ...string) corev1.Pod {
		p := corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		for _, kind := range owners {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Kind: kind})
		}
		if static {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "file"}
		}
		return p
	}
	for name, tc := range map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"of a ReplicaSet":  {pod(corev1.PodRunning, false, "ReplicaSet"), true},
		"without an owner": {pod(corev1.PodPending, false), true},
		"two owners":       {pod(corev1.PodUnknown, false, "StatefulSet", "Other"), true},
		"of a DaemonSet":   {pod(corev1.PodRunning, false, "DaemonSet"), false},
		"static":           {pod(corev1.PodRunning, true, "Node"), false},
		"succeeded":        {pod(corev1.PodSucceeded, false, "Job"), false},
		"failed":           {pod(corev1.PodFailed, false, "Job"), false},
	} {
		if got := leaves(tc.pod); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
