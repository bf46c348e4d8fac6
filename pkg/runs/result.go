package runs

import (
	"encoding/json"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// Annotations of a PipelineRun that the controller has started.
const (
	// AnnotationGeneration is the generation of the Provisioning when the run was started. The
	// generation counts the edits of the spec.
	AnnotationGeneration = "bpa.akraino.org/generation"
	// AnnotationSuperseded marks a run that the controller cancelled because the spec was edited
	// before the run touched a host.
	AnnotationSuperseded = "bpa.akraino.org/superseded"
)

// State is the state of a run or a task.
type State int

const (
	Active State = iota
	Succeeded
	Failed
)

// Task is one TaskRun of a run.
type Task struct {
	Name    string // in the pipeline
	State   State
	Reason  string
	Message string // Tekton's
	Failure *contract.Failure
	Results map[string]string
}

// StateOf returns the state of a run or a task from its condition Succeeded, which is nil at first.
func StateOf(condition *apis.Condition) State {
	switch {
	case condition.IsTrue():
		return Succeeded
	case condition.IsFalse():
		return Failed
	}
	return Active
}

// Completed returns the time at which the run ended, or the zero time if it is active.
func Completed(run *tekton.PipelineRun) time.Time {
	condition := run.Status.GetCondition(apis.ConditionSucceeded)
	switch {
	case StateOf(condition) == Active:
		return time.Time{}
	case run.Status.CompletionTime != nil:
		return run.Status.CompletionTime.Time
	}
	return condition.LastTransitionTime.Inner.Time
}

// Tasks returns the tasks of the run, in the order in which Tekton created them. taskRuns are
// candidates; TaskRuns that the run's status does not name are left out.
func Tasks(run *tekton.PipelineRun, taskRuns []*tekton.TaskRun) []Task {
	var tasks []Task
	for _, child := range run.Status.ChildReferences {
		for _, tr := range taskRuns {
			if tr.Name == child.Name {
				tasks = append(tasks, makeTask(tr))
			}
		}
	}
	return tasks
}

func makeTask(tr *tekton.TaskRun) Task {
	condition := tr.Status.GetCondition(apis.ConditionSucceeded)
	task := Task{Name: tr.Labels[pipeline.PipelineTaskLabelKey], State: StateOf(condition), Results: map[string]string{}}
	if condition != nil {
		task.Reason, task.Message = condition.Reason, condition.Message
	}
	for _, result := range tr.Status.Results {
		task.Results[result.Name] = result.Value.StringVal
	}
	if text := task.Results[contract.ResultFailure]; text != "" && task.State == Failed {
		failure := &contract.Failure{}
		if err := json.Unmarshal([]byte(text), failure); err == nil {
			task.Failure = failure
		}
	}
	return task
}
