package cli

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// historyView has the runs of a Provisioning, the oldest first.
type historyView struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Kept is the number of runs that the controller keeps; 0: not known.
	Kept int      `json:"kept,omitempty"`
	Runs []record `json:"runs"`
}

// result is the state of a run in one word.
type result string

const (
	resultPending   result = "Pending" // Tekton has not started it yet
	resultRunning   result = "Running"
	resultStopping  result = "Stopping" // it was cancelled, and has not ended yet
	resultSucceeded result = "Succeeded"
	resultFailed    result = "Failed"
	resultCancelled result = "Cancelled" // by a user, by a deletion, or because of an edit
)

// record is one run. Reason and the fields after it are the cause of a failure, empty otherwise.
type record struct {
	Name           string       `json:"name"`
	Operation      string       `json:"operation"`
	Attempt        int          `json:"attempt"`
	StartTime      *metav1.Time `json:"startTime,omitempty"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	Result         result       `json:"result"`
	Reason         string       `json:"reason,omitempty"`
	Task           string       `json:"task,omitempty"`
	Host           string       `json:"host,omitempty"` // name of the node
	Step           string       `json:"step,omitempty"`
	Message        string       `json:"message,omitempty"`
}

// records returns the runs that p owns. It leaves out the runs of an earlier Provisioning of the
// same name, and copies that a user has made.
func records(p *v1alpha1.Provisioning, all work) []record {
	list := []record{} // not nil, so that JSON has an empty list
	slices.SortFunc(all.runs, func(a, b *tekton.PipelineRun) int {
		if byTime := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); byTime != 0 {
			return byTime
		}
		return number(a.Name) - number(b.Name) // the API server stores whole seconds
	})
	for _, run := range all.runs {
		if !metav1.IsControlledBy(run, p) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(all.tasks), func(t *tekton.TaskRun) bool { return !metav1.IsControlledBy(t, run) })
		list = append(list, makeRecord(run, of))
	}
	return list
}

// number returns the number of a run, which is the last part of its name; 0: it has none.
func number(run string) int {
	n, _ := strconv.Atoi(run[strings.LastIndex(run, "-")+1:])
	return n
}

func makeRecord(run *tekton.PipelineRun, tasks []*tekton.TaskRun) record {
	r := record{Name: run.Name, Operation: clean(run.Labels[contract.LabelOperation]), StartTime: run.Status.StartTime}
	r.Attempt, _ = strconv.Atoi(run.Labels[contract.LabelAttempt])
	if end := runs.Completed(run); !end.IsZero() {
		r.CompletionTime = &metav1.Time{Time: end}
	}
	condition := run.Status.GetCondition(apis.ConditionSucceeded)
	switch runs.StateOf(condition) {
	case runs.Succeeded:
		r.Result = resultSucceeded
		return r
	case runs.Active:
		r.Result = resultRunning
		switch {
		case run.IsCancelled() || run.IsGracefullyCancelled():
			r.Result = resultStopping
		case run.Status.StartTime == nil:
			r.Result = resultPending
		}
		return r
	}
	cause := runs.Classify(condition.Reason, condition.Message, runs.Tasks(run, tasks))
	r.Result, r.Reason, r.Task = resultFailed, string(cause.Reason), cause.Task
	r.Host, r.Step, r.Message = clean(cause.Host), clean(cause.Step), clean(cause.Message)
	if cause.Reason == contract.ReasonCancelled {
		r.Result = resultCancelled
	}
	if run.Annotations[runs.AnnotationSuperseded] != "" {
		r.Message = "the spec was edited before the run changed a host"
	}
	return r
}
