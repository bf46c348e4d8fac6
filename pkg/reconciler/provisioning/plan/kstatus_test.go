package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// computed returns the status that kstatus computes for a Provisioning. Flux and kpt use kstatus.
// The argument observed is the observedGeneration, which the generated reconciler sets after each
// reconcile.
func computed(t *testing.T, w *scene, observed int64) *status.Result {
	t.Helper()
	p := w.p.DeepCopy()
	p.Generation, p.Status.ObservedGeneration = w.seen.Generation, observed
	if w.seen.Deleting {
		p.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestKstatus: tools that wait for a Provisioning with kstatus distinguish work in progress, a
// failure that requires a user, and success.
func TestKstatus(t *testing.T) {
	w := newScene()
	w.seen.Generation = 2 // not 1: the observedGeneration before it would be 0, which the status omits
	for _, step := range []struct {
		happens string
		want    status.Status
		says    string
	}{
		{"hosts no host fits", status.InProgressStatus, "no host fits"},
		{"hosts; ssh key ssh-privatekey of Secret ssh-key is missing", status.InProgressStatus, "is missing"},
		{"ssh", status.InProgressStatus, ""},
		{"created; claimed; task select-hosts succeeds; task kubespray runs", status.InProgressStatus, "is running"},
		{"task kubespray fails HostUnreachable|worker-1||no answer; run fails Failed", status.InProgressStatus, "see status.failure"},
		{"wait 30s", status.InProgressStatus, ""},
		{"created; task kubespray fails PlaybookFailed|worker-1|x|disk is full; run fails Failed", status.FailedStatus, "see status.failure"},
		{"retry again", status.InProgressStatus, ""},
		{"created; task kubespray succeeds; task collect-kubeconfig succeeds; run succeeds", status.InProgressStatus, "is being written"},
		{"kubeconfig stored", status.CurrentStatus, ""},
		{"spec two", status.FailedStatus, "kubectl patch provisioning"},
		{"spec one", status.CurrentStatus, ""},
		{"kubeconfig gone; key-gone", status.FailedStatus, "annotate the Provisioning"},
		{"delete", status.TerminatingStatus, ""},
	} {
		for _, line := range strings.Split(step.happens, "; ") {
			w.happen(t, strings.Fields(line))
		}
		w.describe()
		got := computed(t, w, w.seen.Generation)
		if got.Status != step.want || !strings.Contains(got.Message, step.says) {
			t.Errorf("%s: %s (%s), want %s ...%s...", step.happens, got.Status, got.Message, step.want, step.says)
		}
		if behind := computed(t, w, w.seen.Generation-1); !w.seen.Deleting && behind.Status != status.InProgressStatus {
			t.Errorf("%s: %s before the controller has seen the edit, want InProgress", step.happens, behind.Status)
		}
		w.now = w.now.Add(time.Second)
	}
}
