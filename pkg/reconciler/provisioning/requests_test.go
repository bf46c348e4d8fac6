package provisioning

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// retriedOnce requests another run, once.
func retriedOnce(p *v1alpha1.Provisioning) {
	p.Annotations = map[string]string{contract.AnnotationRetry: "a"}
}

// leftRequest returns a request that a start has left, which came to no run. It differs from that of edge.
func leftRequest(t *testing.T, number int32) *corev1.ConfigMap {
	t.Helper()
	pr := run(edge(), number)
	cm := requestOf(t, pr, edge(edited), settings.Depot{})
	owner, err := resources.MakeRequestConfigMap(edge(), contract.Request{}, number)
	if err != nil {
		t.Fatal(err)
	}
	cm.OwnerReferences = owner.OwnerReferences
	return cm
}

// started returns the request of the newest run as the controller sees it.
func (w *fixture) started(t *testing.T) contract.Request {
	t.Helper()
	seen, err := w.controller().observe(t.Context(), w.stored(t), now)
	if err != nil {
		t.Fatal(err)
	}
	return seen.Started
}

// configMap returns a ConfigMap as the API server stores it.
func (w *fixture) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	cm, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

// TestStartedIsOfTheNewestRun: the controller reads the request of the newest run, and no other.
func TestStartedIsOfTheNewestRun(t *testing.T) {
	one, two := "10.233.64.0/18", "10.9.0.0/16" // PodSubnet of edge, and after an edit
	first := run(edge(), 1, ended(corev1.ConditionTrue, "Succeeded"))
	ofFirst := requestOf(t, first, edge(), settings.Depot{})
	second := run(edge(edited), 2, ended(corev1.ConditionFalse, "Failed"))
	ofSecond := requestOf(t, second, edge(edited), settings.Depot{})
	another := ofSecond.DeepCopy()
	another.UID = "uid-of-a-copy"
	software := run(edge(edited), 3, ended(corev1.ConditionTrue, "Succeeded"), func(pr *tekton.PipelineRun) {
		pr.Name, pr.Labels[contract.LabelOperation] = "edge-1-software-3", contract.OperationSoftware
	})
	for name, row := range map[string]struct {
		cached, live []runtime.Object
		want         string // PodSubnet; empty: the request is not known
	}{
		"the newest of two":                       {cached: []runtime.Object{first, second, ofFirst, ofSecond}, want: two},
		"a start that came to no run":             {cached: []runtime.Object{first, ofFirst, leftRequest(t, 2)}, want: one},
		"a user has deleted the newest run":       {cached: []runtime.Object{first, ofFirst, ofSecond}, want: one},
		"a run for Softwares is newer":            {cached: []runtime.Object{first, ofFirst, software, requestOf(t, software, edge(edited), settings.Depot{})}, want: one},
		"the cache of ConfigMaps is behind":       {cached: []runtime.Object{first, second, ofFirst}, live: []runtime.Object{ofSecond}, want: two},
		"a user has deleted the request":          {cached: []runtime.Object{first, second, ofFirst}},
		"a user has put another one in its place": {cached: []runtime.Object{first, second, ofFirst, another}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, held(), append([]runtime.Object{edge(), sshKey()}, row.cached...), row.live)
			if got := w.started(t).PodSubnet; got != row.want {
				t.Errorf("the request has PodSubnet %q, want %q", got, row.want)
			}
		})
	}
}

// TestRequestOfARun: the run names its request, which nobody can change, and becomes its only owner, so that Kubernetes
// deletes both together. The status remembers what the run was started for.
func TestRequestOfARun(t *testing.T) {
	w := newFixture(t, fitting(), []runtime.Object{edge(retriedOnce), sshKey()}, nil)
	w.settle(t)
	pr, cm := w.runNamed(t, "edge-1-install-1"), w.configMap(t, "edge-1-run-1")
	if name, uid := runs.RequestOf(convert.Run(pr)); name != cm.Name || uid == "" || uid != cm.UID {
		t.Errorf("the run has the request %s %s, want %s %s", name, uid, cm.Name, cm.UID)
	}
	if cm.Immutable == nil || !*cm.Immutable || len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].Kind != "PipelineRun" || cm.OwnerReferences[0].BlockOwnerDeletion != nil {
		t.Errorf("immutable %v, owners %+v", cm.Immutable, cm.OwnerReferences)
	}
	if got := w.stored(t).Status.ObservedRetry; got != "a" {
		t.Errorf("status.observedRetry is %q", got)
	}
}

// TestRequestsThatCameToNoRun: a start that fails before its run exists leaves its request. The next start uses it again if it
// is the same, and replaces it otherwise.
func TestRequestsThatCameToNoRun(t *testing.T) {
	w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey()}, nil)
	refused := 0
	w.tekton.PrependReactor("create", "pipelineruns", func(clientgotesting.Action) (bool, runtime.Object, error) {
		if refused++; refused == 1 {
			return true, nil, apierrors.NewInternalError(errors.New("no"))
		}
		return false, nil, nil
	})
	if err := w.visit(t, at); err == nil {
		t.Fatal("the run was created")
	}
	w.sync(t)
	left := w.configMap(t, "edge-1-run-1")
	w.settle(t)
	if cm := w.configMap(t, "edge-1-run-1"); cm.UID != left.UID {
		t.Errorf("the request is %s, want that of the first start, %s", cm.UID, left.UID)
	}

	w = newFixture(t, fitting(), []runtime.Object{edge(), sshKey(), leftRequest(t, 1)}, nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	calls := slices.DeleteFunc(w.writes(), func(call string) bool { return !strings.HasSuffix(call, " edge-1-run-1") })
	if diff := cmp.Diff([]string{"create configmaps edge-1-run-1", "delete configmaps edge-1-run-1", "create configmaps edge-1-run-1"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	cm := w.configMap(t, "edge-1-run-1")
	if _, uid := runs.RequestOf(convert.Run(w.runNamed(t, "edge-1-install-1"))); uid != cm.UID || w.request(t).PodSubnet != edge().Spec.PodSubnet {
		t.Errorf("the run has the request %s, want %s with the spec of now: %+v", uid, cm.UID, cm.Data)
	}
}

// TestPodsOfADeletedRun: the number of a deleted run is used again only when no pod mounts its request any more, because a
// node that has an immutable ConfigMap does not read another one of this name.
func TestPodsOfADeletedRun(t *testing.T) {
	for number, waits := range map[int32]bool{1: true, 7: false} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "ended", Labels: map[string]string{contract.LabelCluster: name}},
			Status:     corev1.PodStatus{Phase: corev1.PodSucceeded},
		}
		pod.Spec.Volumes = []corev1.Volume{{Name: "request", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: contract.RunRequestName(name, number)},
		}}}}
		w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey()}, []runtime.Object{pod})
		want := ""
		if waits {
			want = "again"
		}
		checkError(t, w.visit(t, at), want)
		if starts := w.runNamed(t, "edge-1-install-1") != nil; starts == waits {
			t.Errorf("a pod mounts the request of run %d: run 1 starts: %t", number, starts)
		}
	}
}

// TestRunThatCameLate: the API server has created a run long after it was asked to, and its request was replaced meanwhile.
// The controller stops it.
func TestRunThatCameLate(t *testing.T) {
	late := run(edge(), 1)
	late.Annotations[runs.AnnotationRequest] = "uid-of-a-replaced-request"
	w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey()}, []runtime.Object{late})
	w.tekton.PrependReactor("list", "pipelineruns", func(clientgotesting.Action) (bool, runtime.Object, error) {
		return true, &tekton.PipelineRunList{}, nil // it is not there yet
	})
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	if want := `patch pipelineruns edge-1-install-1 {"spec":{"status":"Cancelled"}}`; !slices.Contains(w.calls(), want) {
		t.Errorf("calls %q, want %s", w.calls(), want)
	}
}

// TestRetryWithoutRuns: a request for another run that a run has answered stays answered after all runs were deleted.
func TestRetryWithoutRuns(t *testing.T) {
	for observed, want := range map[string]bool{"a": false, "": true} {
		seen := plan.Seen{Retry: "a", ObservedRetry: observed, Memory: &contract.Installed{}}
		if got := seen.Retries(); got != want {
			t.Errorf("observed %q: another run is requested: %t, want %t", observed, got, want)
		}
	}
}

// TestResetOfAnInvalidSpec: the reset of a Provisioning whose spec is invalid uses the request of the newest run, or that of
// the record if all runs were deleted.
func TestResetOfAnInvalidSpec(t *testing.T) {
	memory := &contract.Installed{Request: contract.Spec{Provisioning: "edge-1", SSHUser: "of-the-record"}}
	for want, seen := range map[string]plan.Seen{
		"of-the-run":    {Invalid: "why", Memory: memory, Started: contract.Request{Spec: contract.Spec{Provisioning: "edge-1", SSHUser: "of-the-run"}}},
		"of-the-record": {Invalid: "why", Memory: memory},
		"of-the-spec":   {Memory: memory, Request: contract.Request{Spec: contract.Spec{Provisioning: "edge-1", SSHUser: "of-the-spec"}}},
	} {
		if got := requestFor(seen, plan.Step{Operation: contract.OperationReset}); got.SSHUser != want || got.Operation != contract.OperationReset {
			t.Errorf("the reset uses %+v, want the request %s", got, want)
		}
	}
}
