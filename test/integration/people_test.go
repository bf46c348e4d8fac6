//go:build integration

package integration

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const people = "people" // namespace of this file's Provisioning

// TestCommandsOfPeople runs commands of `kubectl bpa` at a real API server: as vic, who has only the
// ClusterRole bpa-view, and as eve, who has only bpa-edit. The test ends the run as Tekton does.
func TestCommandsOfPeople(t *testing.T) {
	crds := filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "300-crds")
	must(t, "", "apply", "--server-side", "-f", crds)
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/pipelineruns.tekton.dev", "crd/taskruns.tekton.dev")
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/201-people.yaml")
	must(t, "", "create", "namespace", people)
	must(t, "", "create", "rolebinding", "view", "-n", people, "--clusterrole=bpa-view", "--user=vic")
	must(t, "", "create", "rolebinding", "edit", "-n", people, "--clusterrole=bpa-edit", "--user=eve")
	must(t, `{"apiVersion":"bpa.akraino.org/v1alpha1","kind":"Provisioning","metadata":{"name":"edge-1"},"spec":{"masters":[{"master-1":{"cpu":8}}]}}`,
		"apply", "-n", people, "-f", "-")
	admin := resetClient(t, "")
	run := createWork(t, admin)

	expect := func(user string, want int, text string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if code := commandAs(t, user, people, &out, args...); code != want || !strings.Contains(out.String(), text) {
			t.Errorf("%s of %s: exit code %d, want %d, and %q in:\n%s", args, user, code, want, text, &out)
		}
	}
	expect("vic", 0, "edge-1-install-1", "history", "edge-1")
	must(t, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"started"},"type":"Normal","reason":"RunStarted","message":"attempt 1",`+
		`"involvedObject":{"apiVersion":"bpa.akraino.org/v1alpha1","kind":"Provisioning","name":"edge-1","namespace":"`+people+`"}}`, "create", "-n", people, "-f", "-")
	expect("vic", 0, "Provisioning/edge-1  attempt 1", "events", "edge-1")
	expect("vic", 3, "edge-1-install-1 has printed nothing yet", "logs", "edge-1")
	must(t, "", "auth", "can-i", "get", "pods", "--subresource=log", "-n", people, "--as=vic")
	expect("vic", 1, `User "vic" cannot patch resource "pipelineruns"`, "cancel", "edge-1")
	for _, command := range []string{"pause", "retry"} {
		expect("vic", 1, `User "vic" cannot patch resource "provisionings"`, command, "edge-1")
	}

	var out bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- commandAs(t, "eve", people, &out, "cancel", "edge-1", "--timeout=1m") }()
	endWork(t, admin, run)
	if code := <-ended; code != 0 || !strings.Contains(out.String(), "kubectl bpa retry edge-1 -n "+people) {
		t.Errorf("cancel: exit code %d:\n%s", code, &out)
	}
	expect("vic", 0, "Cancelled  RunCancelled", "history", "edge-1")
	expect("eve", 0, "is paused", "pause", "edge-1")
	expect("eve", 0, "is resumed", "resume", "edge-1")
	expect("eve", 0, "was requested", "retry", "edge-1")
	if got := must(t, "", "get", "provisioning", "edge-1", "-n", people, "-o", "jsonpath={.spec.paused}{.metadata.annotations}"); strings.HasPrefix(got, "true") ||
		!strings.Contains(got, contract.AnnotationRetry) {
		t.Errorf("spec.paused and annotations: %s", got)
	}
}

// createWork creates an active run with a TaskRun and a pod.
func createWork(t *testing.T, admin client.Client) *tekton.PipelineRun {
	t.Helper()
	uid := must(t, "", "get", "provisioning", "edge-1", "-n", people, "-o", "jsonpath={.metadata.uid}")
	labels := map[string]string{
		contract.LabelCluster: "edge-1", contract.LabelOperation: contract.OperationInstall, contract.LabelAttempt: "1", "tekton.dev/pipelineRun": "edge-1-install-1",
	}
	run := &tekton.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: people, Name: "edge-1-install-1", Labels: labels, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Name: "edge-1", UID: types.UID(uid), Controller: ptr.To(true)},
	}}, Spec: tekton.PipelineRunSpec{PipelineRef: &tekton.PipelineRef{Name: contract.PipelineInstall}}}
	task := &tekton.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: people, Name: "edge-1-install-1-kubespray", Labels: labels},
		Spec: tekton.TaskRunSpec{TaskRef: &tekton.TaskRef{Name: contract.TaskKubespray}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: people, Name: "edge-1-install-1-kubespray-pod", Labels: labels}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false), SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "step", Image: "example.test/step", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: people, Name: "default"}} // there is no controller manager that creates it
	for _, o := range []client.Object{account, run, task, pod} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

// endWork waits until a command has cancelled the run, and then ends its objects as Tekton does.
func endWork(t *testing.T, admin client.Client, run *tekton.PipelineRun) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(run), run)
		return err == nil && run.IsCancelled(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	task := &tekton.TaskRun{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: people, Name: run.Name + "-kubespray"}, task); err != nil {
		t.Fatal(err)
	}
	task.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: "TaskRunCancelled"})
	run.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: "Cancelled"})
	for _, o := range []client.Object{task, run} {
		if err := admin.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: people, Name: run.Name + "-kubespray-pod"}}); err != nil {
		t.Fatal(err)
	}
}
