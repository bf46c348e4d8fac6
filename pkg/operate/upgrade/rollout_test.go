package upgrade

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestRolloutTrouble(t *testing.T) {
	deployment := func(generation, seen int64, wanted *int32, all, updated, available int32) rollout {
		return ofDeployment(appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns", Generation: generation}, Spec: appsv1.DeploymentSpec{Replicas: wanted},
			Status: appsv1.DeploymentStatus{ObservedGeneration: seen, Replicas: all, UpdatedReplicas: updated, AvailableReplicas: available}})
	}
	daemons := func(updated, available int32, strategy appsv1.DaemonSetUpdateStrategyType) rollout {
		return ofDaemonSet(appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "dns", Generation: 2}, Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: strategy}},
			Status: appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 3, UpdatedNumberScheduled: updated, NumberAvailable: available}})
	}
	const rolling, onDelete = appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType
	for name, tc := range map[string]struct {
		r    rollout
		lost int
		want string
	}{
		"rolled out":               {deployment(2, 2, ptr.To[int32](2), 2, 2, 2), 0, ""},
		"not seen":                 {deployment(3, 2, ptr.To[int32](2), 2, 2, 2), 0, "Deployment kube-system/coredns was changed, and its controller has not seen the change yet"},
		"a new and two old pods":   {deployment(3, 3, ptr.To[int32](2), 3, 1, 2), 0, "Deployment kube-system/coredns has 1 of 2 new pods, and 2 old ones"},
		"an old pod is left":       {deployment(2, 2, ptr.To[int32](2), 3, 2, 2), 0, "Deployment kube-system/coredns has 2 of 2 new pods, and 1 old ones"},
		"a pod is not available":   {deployment(2, 2, ptr.To[int32](2), 2, 2, 1), 0, "Deployment kube-system/coredns has 1 of 2 pods available"},
		"none is wanted":           {deployment(2, 2, ptr.To[int32](0), 0, 0, 0), 0, ""},
		"daemons":                  {daemons(3, 3, rolling), 0, ""},
		"old daemons":              {daemons(1, 3, rolling), 0, "DaemonSet kube-system/dns has 1 of 3 new pods, and 0 old ones"},
		"a user replaces the pods": {daemons(0, 3, onDelete), 0, ""},
		"a daemon does not work":   {daemons(3, 2, rolling), 0, "DaemonSet kube-system/dns has 2 of 3 pods available"},
		"its node is lost":         {daemons(3, 2, rolling), 1, ""},
	} {
		if got := tc.r.trouble(tc.lost); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
