package drain_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/appcluster/drain"
)

func TestObstacle(t *testing.T) {
	budget := func(name string, selector *metav1.LabelSelector, allowed int32) policyv1.PodDisruptionBudget {
		return policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}}
	}
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	none := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	in := func(namespace string, deleted *metav1.Time) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", Labels: map[string]string{"app": "web"}, DeletionTimestamp: deleted}}
	}
	app, now := in("shop", nil), metav1.NewTime(time.Now())
	for name, tc := range map[string]struct {
		pod     corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		why     string
		budget  string
	}{
		"no budget":                     {app, nil, "it was not evicted", ""},
		"a budget":                      {app, []policyv1.PodDisruptionBudget{budget("b", web, 0)}, "PodDisruptionBudget shop/b allows no disruption", "b"},
		"an empty selector":             {app, []policyv1.PodDisruptionBudget{budget("b", &metav1.LabelSelector{}, 0)}, "PodDisruptionBudget shop/b allows no disruption", "b"},
		"no selector":                   {app, []policyv1.PodDisruptionBudget{budget("b", nil, 0)}, "it was not evicted", ""},
		"another selector":              {app, []policyv1.PodDisruptionBudget{budget("b", none, 0)}, "it was not evicted", ""},
		"a budget that allows it":       {app, []policyv1.PodDisruptionBudget{budget("b", web, 1)}, "it was not evicted", ""},
		"two budgets":                   {app, []policyv1.PodDisruptionBudget{budget("b", web, 1), budget("c", web, 1)}, "2 PodDisruptionBudgets cover it, such as shop/b, and then no eviction is allowed", "b"},
		"another namespace":             {in("x", nil), []policyv1.PodDisruptionBudget{budget("b", web, 0)}, "it was not evicted", ""},
		"it is deleted, but still runs": {in("shop", &now), []policyv1.PodDisruptionBudget{budget("b", web, 0)}, "it is still terminating", ""},
	} {
		t.Run(name, func(t *testing.T) {
			why, b := drain.Obstacle(tc.pod, tc.budgets)
			got := ""
			if b != nil {
				got = b.Name
			}
			if why != tc.why || got != tc.budget {
				t.Errorf("%q, budget %q; want %q, %q", why, got, tc.why, tc.budget)
			}
		})
	}
}
