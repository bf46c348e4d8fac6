package observe

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// SortOut puts the runs of this Provisioning into seen.Runs and seen.Software.Runs, oldest first. It puts the objects that
// an earlier Provisioning of the same name left behind into seen.Leftovers.
func SortOut(p *v1alpha1.Provisioning, runs []*tekton.PipelineRun, taskRuns []*tekton.TaskRun, seen *plan.Seen) {
	tasksOf := map[types.UID][]*tekton.TaskRun{}
	for _, tr := range taskRuns {
		if owner := metav1.GetControllerOf(tr); owner != nil {
			tasksOf[owner.UID] = append(tasksOf[owner.UID], tr)
		}
	}
	for _, run := range runs {
		if !metav1.IsControlledBy(run, p) {
			seen.Leftovers = append(seen.Leftovers, run.Name)
			if !run.IsDone() {
				seen.ForeignRuns = append(seen.ForeignRuns, MakeRun(run, nil))
			}
			continue
		}
		of := &seen.Runs
		if run.Labels[contract.LabelOperation] == contract.OperationSoftware {
			of = &seen.Software.Runs
		}
		*of = append(*of, MakeRun(run, tasksOf[run.UID]))
		delete(tasksOf, run.UID)
	}
	for _, orphans := range tasksOf {
		for _, tr := range orphans {
			seen.Leftovers = append(seen.Leftovers, tr.Name)
		}
	}
	slices.Sort(seen.Leftovers)
	for _, of := range [][]plan.Run{seen.Runs, seen.Software.Runs} {
		sort.Slice(of, func(i, j int) bool { return of[i].Number < of[j].Number }) // slices.SortFunc moves these large values in 24 KB of code
	}
}

// MakeRun returns what is known of a run.
func MakeRun(run *tekton.PipelineRun, taskRuns []*tekton.TaskRun) plan.Run {
	condition := run.Status.GetCondition(apis.ConditionSucceeded)
	made := plan.Run{
		Name:       run.Name,
		Number:     resources.RunNumber(run.Name),
		Operation:  run.Labels[contract.LabelOperation],
		Digest:     run.Annotations[contract.AnnotationRequestDigest],
		Inputs:     run.Annotations[resources.AnnotationInputs],
		Retry:      run.Annotations[contract.AnnotationRetry],
		Restore:    run.Annotations[contract.AnnotationRestore],
		Plugins:    run.Annotations[resources.AnnotationPlugins],
		Asked:      run.Annotations[resources.AnnotationAsked],
		SSHKey:     plan.SSHKey{Fingerprint: run.Annotations[resources.AnnotationSSHKey], Version: run.Annotations[resources.AnnotationSSHSecret]},
		State:      runs.StateOf(condition),
		Cancelling: run.IsCancelled() || run.IsGracefullyCancelled(),
		Leaving:    run.DeletionTimestamp != nil,
	}
	made.Enrolls = runs.Enrolls(run)
	made.Request.Name, made.Request.UID = runs.RequestOf(run)
	made.Superseded = run.Annotations[runs.AnnotationSuperseded] != ""
	made.Generation, _ = strconv.ParseInt(run.Annotations[runs.AnnotationGeneration], 10, 64) // 0 if a user has made the run
	if n, err := strconv.ParseInt(run.Labels[contract.LabelAttempt], 10, 32); err == nil {
		made.Attempt = int32(n)
	}
	if condition != nil {
		made.Reason, made.Message = condition.Reason, condition.Message
	}
	if run.Status.StartTime != nil {
		made.Started = run.Status.StartTime.Time
	}
	made.Completed = runs.Completed(run)
	if text := run.Annotations[resources.AnnotationReplaces]; text != "" {
		made.Replaces = strings.Split(text, " ")
	}
	for _, child := range run.Status.ChildReferences {
		made.Touched = made.Touched || contract.ChangesHosts(child.PipelineTaskName) // the run has touched hosts even if the TaskRun was deleted since
	}
	made.Tasks = runs.Tasks(run, taskRuns)
	return made
}

// Pointers returns pointers to the items of a list.
func Pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
