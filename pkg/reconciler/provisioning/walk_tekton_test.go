package provisioning

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// simJob is the pod of a TaskRun. It runs until its next write each time that next is called.
type simJob struct {
	c       *simClient
	next    func() (struct{}, bool)
	results map[string]string
	err     error
}

// startJob starts the pod of a task.
func (w *simSite) startJob(run *tekton.PipelineRun, name string) *simJob {
	j := &simJob{c: &simClient{s: w.server, said: w.say}, results: map[string]string{}}
	j.next, _ = iter.Pull(iter.Seq[struct{}](func(yield func(struct{}) bool) {
		j.c.pause, j.c.before = func() { yield(struct{}{}) }, w.server.version
		j.err = w.runTask(j, run, name)
	}))
	return j
}

// kill ends the pod: nothing that it does has an effect any more.
func (j *simJob) kill() {
	j.c.dead = true
	j.next()
}

// stepsOf returns the names of the tasks of a run.
func stepsOf(run *tekton.PipelineRun) (names []string) {
	plugins := slices.ContainsFunc(run.Spec.Params, func(p tekton.Param) bool { return p.Name == contract.ParamPlugins && p.Value.StringVal == "true" })
	operation := contract.OperationOf(run.Labels[contract.LabelOperation])
	for _, s := range operation.Steps {
		if s.Task == contract.TaskEnroll && !runs.Enrolls(convert.Run(run)) {
			continue
		}
		if s.Task != contract.TaskInstallPlugins || operation.Name == contract.OperationPlugins || plugins {
			names = append(names, s.Task)
		}
	}
	return names
}

// tick lets Tekton and the pods of a run do a little. Killed is whether its pod dies now.
func (w *simSite) tick(run *tekton.PipelineRun, killed bool) {
	steps, begun := stepsOf(run), len(run.Status.ChildReferences)
	var last *tekton.TaskRun
	if begun > 0 {
		last = simStored[*tekton.TaskRun](w.server, kindTask, run.Status.ChildReferences[begun-1].Name)
	}
	active := last != nil && !last.IsDone()
	switch {
	case run.IsCancelled() && active:
		w.endJob(run, last, "TaskRunCancelled", "cancelled by the walk")
	case run.IsCancelled():
		w.endRun(run, corev1.ConditionFalse, "Cancelled", "PipelineRun was cancelled")
	case active && killed:
		w.endJob(run, last, "Failed", "pod deleted by the walk")
	case active:
		w.work(run, last, steps[begun-1])
	case last != nil && last.IsFailure():
		w.endRun(run, corev1.ConditionFalse, "Failed", "task "+steps[begun-1]+" has failed")
	case begun == len(steps):
		w.endRun(run, corev1.ConditionTrue, "Succeeded", "")
	default:
		w.beginTask(run, steps[begun])
	}
}

func (w *simSite) beginTask(run *tekton.PipelineRun, name string) {
	tr := &tekton.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: site, Name: run.Name + "-" + name,
		Labels:          map[string]string{contract.LabelCluster: run.Labels[contract.LabelCluster], pipeline.PipelineTaskLabelKey: name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: run.Name, UID: run.UID, Controller: new(true)}},
	}}
	w.server.set(kindTask, tr)
	simChange(w.server, kindRun, run.Name, func(run *tekton.PipelineRun) {
		if run.Status.StartTime == nil {
			run.Status.StartTime = &metav1.Time{Time: w.now}
		}
		run.Status.ChildReferences = append(run.Status.ChildReferences, tekton.ChildStatusReference{Name: tr.Name, PipelineTaskName: name})
	})
}

// work lets the pod of a task go on to its next write.
func (w *simSite) work(run *tekton.PipelineRun, tr *tekton.TaskRun, name string) {
	j := w.jobs[tr.Name]
	if j == nil {
		j = w.startJob(run, name)
		w.jobs[tr.Name] = j
	}
	if _, more := j.next(); more {
		w.podWrites++
		return
	}
	delete(w.jobs, tr.Name)
	status, reason, message := corev1.ConditionTrue, "Succeeded", ""
	if j.err != nil {
		status, reason, message = corev1.ConditionFalse, "Failed", "the step has failed"
		f := task.FailureOf(j.err)
		text, err := json.Marshal(f)
		if err != nil {
			panic(err)
		}
		j.results = map[string]string{contract.ResultFailure: string(text)}
		w.say("task " + tr.Name + " fails: " + j.err.Error())
		if f.Reason == contract.ReasonInvalidRequest || f.Reason == contract.ReasonInternal {
			w.wrong = errors.Join(w.wrong, j.err)
		}
	}
	w.endTask(tr, status, reason, message, j.results)
}

// endJob kills the pod of a task.
func (w *simSite) endJob(run *tekton.PipelineRun, tr *tekton.TaskRun, reason, message string) {
	w.say("the pod of " + tr.Name + " is killed")
	if j := w.jobs[tr.Name]; j != nil {
		j.kill()
		delete(w.jobs, tr.Name)
	}
	w.endTask(tr, corev1.ConditionFalse, reason, message, nil)
}

func (w *simSite) endTask(tr *tekton.TaskRun, status corev1.ConditionStatus, reason, message string, results map[string]string) {
	simChange(w.server, kindTask, tr.Name, func(tr *tekton.TaskRun) {
		tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason, Message: message})
		for name, value := range results {
			tr.Status.Results = append(tr.Status.Results, tekton.TaskRunResult{Name: name, Value: *tekton.NewStructuredValues(value)})
		}
	})
}

func (w *simSite) endRun(run *tekton.PipelineRun, status corev1.ConditionStatus, reason, message string) {
	w.say("run " + run.Name + ": " + reason)
	simChange(w.server, kindRun, run.Name, func(run *tekton.PipelineRun) {
		run.Status.CompletionTime = &metav1.Time{Time: w.now}
		run.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: reason, Message: message})
	})
}

// activeRuns returns the runs that have not ended.
func (w *simSite) activeRuns() []*tekton.PipelineRun {
	return slices.DeleteFunc(simList[*tekton.PipelineRun](w.server, kindRun), func(run *tekton.PipelineRun) bool { return run.IsDone() })
}
