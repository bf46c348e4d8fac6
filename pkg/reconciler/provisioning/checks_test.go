package provisioning

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestFindingsAreInTheStatus: the status has what the newest run has found out about its hosts, and keeps it when the outcome is gone.
func TestFindingsAreInTheStatus(t *testing.T) {
	w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey()}, nil)
	w.settle(t)
	if got := w.stored(t).Status.Checks; got != nil {
		t.Errorf("before the checks, the status has %+v", got)
	}
	store := func(text string, owner *metav1.OwnerReference) {
		t.Helper()
		cm := w.configMap(t, "edge-1-run-1-out").DeepCopy()
		cm.Data = map[string]string{contract.KeyChecks: text}
		if owner != nil {
			cm.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		if _, err := w.kube.CoreV1().ConfigMaps(site).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.sync(t)
		w.settle(t)
	}
	store(`{"findings":[{"id":"clock","severity":"error","hosts":["worker-1"],"hostCount":1,"message":"an hour"},{"id":"swap","severity":"warning","hosts":["worker-1","worker-2"],"hostCount":2,"message":"/dev/sda2"}],"omitted":3}`, nil)
	want := &v1alpha1.ChecksStatus{Run: "edge-1-install-1", Summary: "1 error, 1 warning, 3 further findings", Findings: []v1alpha1.CheckFinding{
		{ID: "clock", Severity: "error", Hosts: []string{"worker-1"}, HostCount: 1, Message: "an hour"},
		{ID: "swap", Severity: "warning", Hosts: []string{"worker-1", "worker-2"}, HostCount: 2, Message: "/dev/sda2"},
	}}
	if diff := cmp.Diff(want, w.stored(t).Status.Checks); diff != "" {
		t.Errorf("status.checks (-want +got):\n%s", diff)
	}
	yes := true
	store(`{}`, &metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "other", UID: "of-somebody", Controller: &yes})
	if diff := cmp.Diff(want, w.stored(t).Status.Checks); diff != "" {
		t.Errorf("with the object of somebody else, status.checks (-want +got):\n%s", diff)
	}
	run := w.runNamed(t, "edge-1-install-1")
	store(`{}`, &metav1.OwnerReference{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: run.Name, UID: run.UID, Controller: &yes})
	if diff := cmp.Diff(&v1alpha1.ChecksStatus{Run: "edge-1-install-1"}, w.stored(t).Status.Checks); diff != "" {
		t.Errorf("after good hosts, status.checks (-want +got):\n%s", diff)
	}
}
