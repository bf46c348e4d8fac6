package drain

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Budgets returns the PodDisruptionBudgets of the cluster.
func Budgets(ctx context.Context, kube kubernetes.Interface) ([]policyv1.PodDisruptionBudget, error) {
	list, err := kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the PodDisruptionBudgets of the cluster: %w", err)
	}
	return list.Items, nil
}

// Name returns NAMESPACE/NAME of an object for a message.
func Name(o metav1.Object) string {
	return task.Printable(o.GetNamespace()+"/"+o.GetName(), maxName)
}

// maxName is the largest length of a namespace and a name.
const maxName = 400

// covers reports whether the budget counts the pod.
func covers(b policyv1.PodDisruptionBudget, p corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector) // no selector: no pod; an empty one: all pods
	return err == nil && b.Namespace == p.Namespace && selector.Matches(labels.Set(p.Labels))
}

// Obstacle returns why a pod has not left its node, and the budget that the user can look at; nil: no budget prevents
// its eviction.
func Obstacle(p corev1.Pod, budgets []policyv1.PodDisruptionBudget) (why string, blocking *policyv1.PodDisruptionBudget) {
	covering := slices.DeleteFunc(slices.Clone(budgets), func(b policyv1.PodDisruptionBudget) bool { return !covers(b, p) })
	zero := slices.IndexFunc(covering, func(b policyv1.PodDisruptionBudget) bool { return b.Status.DisruptionsAllowed <= 0 })
	switch {
	case p.DeletionTimestamp != nil:
		return "it is still terminating", nil
	case len(covering) > 1:
		return fmt.Sprintf("%d PodDisruptionBudgets cover it, such as %s, and then no eviction is allowed", len(covering), Name(&covering[0])), &covering[0]
	case zero >= 0:
		return "PodDisruptionBudget " + Name(&covering[zero]) + " allows no disruption", &covering[zero]
	}
	return "it was not evicted", nil
}
