package cli

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// noon is the time that the commands of a stopped terminal see.
var noon = created.Add(3 * time.Hour)

// newStopped returns a terminal whose clock does not run, so that its output is always the same.
func newStopped(t *testing.T, objects ...client.Object) *terminal {
	w := newTerminal(t, objects...)
	w.clock = func() time.Time { return noon }
	return w
}

// golden compares the exit code and the whole output with a file in testdata.
func (w *terminal) golden(file string, code int) {
	w.t.Helper()
	golden(w.t, "testdata/"+file+".txt", fmt.Sprintf("%s%sexit code %d\n", w.text(), w.errOut.String(), code))
}

// runOf returns an active run of p, which was started ten minutes before noon for each attempt.
func runOf(p *v1alpha1.Provisioning, operation string, attempt int, changes ...func(*tekton.PipelineRun)) *tekton.PipelineRun {
	start := metav1.NewTime(noon.Add(time.Duration(attempt-4) * 10 * time.Minute))
	run := &tekton.PipelineRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: fmt.Sprintf("%s-%s-%d", p.Name, operation, attempt), UID: types.UID(fmt.Sprintf("run-%d", attempt)), CreationTimestamp: start,
		Labels:      map[string]string{contract.LabelCluster: p.Name, contract.LabelOperation: operation, contract.LabelAttempt: strconv.Itoa(attempt)},
		Annotations: map[string]string{runs.AnnotationGeneration: "1"},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Provisioning", Name: p.Name, UID: p.UID, Controller: ptr.To(true),
		}},
	}}
	run.Status.StartTime = &start
	for _, change := range changes {
		change(run)
	}
	return run
}

// endsWith ends a run after four minutes, with Tekton's reason and message.
func endsWith(reason, message string) func(*tekton.PipelineRun) {
	return func(run *tekton.PipelineRun) {
		status := corev1.ConditionFalse
		if reason == "Succeeded" {
			status = corev1.ConditionTrue
		}
		run.Status.Conditions = duckv1.Conditions{{Type: apis.ConditionSucceeded, Status: status, Reason: reason, Message: message}}
		run.Status.CompletionTime = &metav1.Time{Time: run.Status.StartTime.Add(4 * time.Minute)}
	}
}

func isCancelled(run *tekton.PipelineRun) {
	run.Spec.Status = tekton.PipelineRunSpecStatusCancelled
}

// taskOf returns an active TaskRun of a run, and adds a reference to it to the run.
func taskOf(run *tekton.PipelineRun, task string) *tekton.TaskRun {
	tr := &tekton.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: run.Namespace, Name: run.Name + "-" + task,
		Labels: map[string]string{
			contract.LabelCluster: run.Labels[contract.LabelCluster], "tekton.dev/pipelineRun": run.Name, "tekton.dev/pipelineTask": task,
		},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: run.Name, UID: run.UID, Controller: ptr.To(true)}},
	}}
	run.Status.ChildReferences = append(run.Status.ChildReferences, tekton.ChildStatusReference{Name: tr.Name, PipelineTaskName: task})
	return tr
}

// failsWith ends a TaskRun with the failure that the task reports.
func failsWith(task *tekton.TaskRun, failure string) *tekton.TaskRun {
	task.Status.Conditions = duckv1.Conditions{{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: "Failed"}}
	task.Status.Results = []tekton.TaskRunResult{{Name: contract.ResultFailure, Value: *tekton.NewStructuredValues(failure)}}
	return task
}

// podOf returns a running pod of a TaskRun.
func podOf(task *tekton.TaskRun) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace, Name: task.Name + "-pod", Labels: task.Labels},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// isRunning makes the status name an active run.
func isRunning(p *v1alpha1.Provisioning, run *tekton.PipelineRun) {
	p.Status.ObservedGeneration = p.Generation
	attempt, _ := strconv.Atoi(run.Labels[contract.LabelAttempt])
	p.Status.Run = &v1alpha1.RunStatus{Name: run.Name, Operation: run.Labels[contract.LabelOperation], Attempt: int32(attempt), StartTime: run.Status.StartTime}
}

// hasEnded makes the status name a run that has ended, with its failure.
func hasEnded(p *v1alpha1.Provisioning, run *tekton.PipelineRun) {
	isRunning(p, run)
	endsWith("Failed", "")(run)
	p.Status.Run.CompletionTime = run.Status.CompletionTime
	hasFailed(p)
}
