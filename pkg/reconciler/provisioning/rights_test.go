package provisioning

import (
	"slices"
	"testing"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// hostsBinding returns the RoleBinding for hosts. Older versions of the controller left such a
// binding behind.
func hostsBinding(t *testing.T, p *v1alpha1.Provisioning) *rbacv1.RoleBinding {
	t.Helper()
	all := resources.MakeRoleBindings(p, contract.OperationOf(contract.OperationInstall).Tasks())
	i := slices.IndexFunc(all, func(b *rbacv1.RoleBinding) bool { return b.Name == resources.HostsBindingName(p.Name) })
	if i < 0 {
		t.Fatal("there is no such binding")
	}
	return all[i]
}

// TestRightToHosts: the binding exists only as long as a select-hosts may be active. At the start
// of every case, the binding exists.
func TestRightToHosts(t *testing.T) {
	const gone = "delete rolebindings edge-1-select-hosts-hosts"
	done := func(status corev1.ConditionStatus) func(*tekton.PipelineRun) { return ended(status, "x") }
	pod := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "pod", Labels: map[string]string{
				contract.LabelCluster: name, "tekton.dev/pipelineTask": contract.TaskSelectHosts,
			}},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	p := edge()
	other := edge(func(p *v1alpha1.Provisioning) { p.UID = "other" })
	for _, row := range []struct {
		name    string
		run     func(*tekton.PipelineRun)
		selects corev1.ConditionStatus // condition of select-hosts; empty: it has not started
		binding *rbacv1.RoleBinding
		live    []runtime.Object // objects at the API server that are not in the caches
		removed bool
		again   bool // another reconcile is requested soon
	}{
		{name: "the run has not come to select-hosts", run: nil, binding: hostsBinding(t, p)},
		{name: "select-hosts works", selects: corev1.ConditionUnknown, binding: hostsBinding(t, p)},
		{name: "select-hosts has ended, the run works", selects: corev1.ConditionTrue, binding: hostsBinding(t, p), removed: true},
		{name: "its pod releases hosts still", selects: corev1.ConditionFalse, binding: hostsBinding(t, p), live: []runtime.Object{pod(corev1.PodRunning)}, again: true},
		{name: "its pod has ended too", selects: corev1.ConditionFalse, binding: hostsBinding(t, p), live: []runtime.Object{pod(corev1.PodFailed)}, removed: true},
		{name: "the run failed before it", run: done(corev1.ConditionFalse), binding: hostsBinding(t, p), removed: true},
		{name: "a cluster that an earlier version installed", run: done(corev1.ConditionTrue), selects: corev1.ConditionTrue, binding: hostsBinding(t, p), removed: true},
		{name: "a newer run has been started, which the caches do not show", run: done(corev1.ConditionTrue), selects: corev1.ConditionTrue,
			binding: hostsBinding(t, p), live: []runtime.Object{run(p, 2)}},
		{name: "a binding of another owner", run: done(corev1.ConditionTrue), binding: hostsBinding(t, other)},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := run(p, 1)
			if row.run != nil {
				row.run(pr)
			}
			world := []runtime.Object{p.DeepCopy(), pr, row.binding}
			if row.selects != "" {
				world = append(world, child(pr, contract.TaskSelectHosts, row.selects, nil))
			}
			w := newFixture(t, held(), world, row.live)
			err := w.visit(t, at)
			if row.again {
				checkError(t, err, "again")
			}
			if removed := slices.Contains(w.calls(), gone); removed != row.removed {
				t.Errorf("removed: %t, want %t; calls %q", removed, row.removed, w.calls())
			}
			w.kube.ClearActions()
			w.sync(t)
			_ = w.visit(t, at)
			if row.removed && slices.Contains(w.calls(), gone) {
				t.Error("removed twice")
			}
		})
	}
}
