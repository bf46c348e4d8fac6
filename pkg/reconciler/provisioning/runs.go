package provisioning

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs"
)

func selector(p *v1alpha1.Provisioning) labels.Selector {
	return labels.SelectorFromSet(labels.Set{contract.LabelCluster: p.Name})
}

// observeRuns reads runs and their tasks from the caches.
func (r *Reconciler) observeRuns(p *v1alpha1.Provisioning, seen *plan.Seen) error {
	runs, err := r.runs.PipelineRuns(p.Namespace).List(selector(p))
	if err != nil {
		return fmt.Errorf("list PipelineRuns: %w", err)
	}
	taskRuns, err := r.taskRuns.TaskRuns(p.Namespace).List(selector(p))
	if err != nil {
		return fmt.Errorf("list TaskRuns: %w", err)
	}
	sortOut(p, runs, taskRuns, seen)
	return nil
}

// errRecordBehind is the result of a step that must wait because of recordBehind.
var errRecordBehind = &notYet{"the cache does not show yet what the last run has recorded", behind}

// recordBehind reports whether the API server itself has other records of the tasks than seen: another record of the
// cluster or of its packages, other states of hosts, other claimed nodes, or claims of other hosts. The cache can show the
// end of a run before what its tasks have written. Without the last change of the record, a node that has just joined looks
// like the rest of a failed run, which another run would remove; without that of the claimed nodes, a standby that was just claimed
// looks like a host that has no use any more; without that of the packages, a node looks as if it were still to be rebooted;
// without that of the claims, a run that removes nodes would take the rest of a failed run from the list of nodes.
func (r *Reconciler) recordBehind(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen) (bool, error) {
	cm, err1 := r.configMapLive(ctx, p, contract.InstalledName(p.Name))
	packages, err2 := r.configMapLive(ctx, p, contract.SoftwareName(p.Name))
	held, err3 := r.hosts.HeldLive(ctx, ownerOf(p))
	if err := errors.Join(err1, err2, err3); err != nil {
		return false, err
	}
	live, record, claimed := plan.Seen{}, seen.Memory, seen.Nodes
	if cm != nil {
		r.readStates(p, cm, &live)
	}
	if seen.Rebuilt {
		record = nil
	}
	if seen.Relisted {
		claimed = nil
	}
	if packages != nil && !seen.Deleting { // see observeSoftware
		live.Software.Record = r.readSoftware(p, packages)
	}
	same := equality.Semantic.DeepEqual // which cannot compare times
	return !maps.Equal(live.States, seen.States) || !same(live.Memory, record) || !same(live.Nodes, claimed) ||
		!reflect.DeepEqual(live.Software.Record, seen.Software.Record) || !holds(seen, held), nil
}

// holds reports whether these are the hosts that the Provisioning holds according to seen.
func holds(seen plan.Seen, held []hosts.Host) bool {
	number := 0
	for _, h := range seen.Site {
		if h.Ours {
			number++
		}
	}
	return number == len(held) && !slices.ContainsFunc(held, func(h hosts.Host) bool {
		known := seen.Site[h.Name]
		return !known.Ours || known.UID != h.UID
	})
}

// observeWorkersLive asks the API server itself for all objects that may work on the hosts. Stale
// caches would be dangerous: another consumer could claim a host that is released too early, and
// install it while our playbook still works on it. Pods that mount the ConfigMap request count too, even if
// they have ended; empty: none. As long as one exists, its node does not read another immutable ConfigMap of this
// name: the number of a run that was deleted is used again.
func (r *Reconciler) observeWorkersLive(ctx context.Context, p *v1alpha1.Provisioning, request string, seen *plan.Seen) error {
	taskRuns, err := r.observeRunsLive(ctx, p, seen)
	if err != nil {
		return err
	}
	for _, tr := range taskRuns {
		if !tr.IsDone() { // a TaskRun that is not done may still create a pod
			seen.Pods = append(seen.Pods, "TaskRun "+tr.Name)
		}
	}
	pods, err := r.livePods(ctx, p, nil, request)
	seen.Pods = append(seen.Pods, pods...)
	return err
}

// observeRunsLive is like observeRuns, but reads from the API server itself.
func (r *Reconciler) observeRunsLive(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) ([]*tekton.TaskRun, error) {
	options := metav1.ListOptions{LabelSelector: selector(p).String()}
	runs, err := r.tekton.TektonV1().PipelineRuns(p.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list PipelineRuns: %w", err)
	}
	taskRuns, err := r.tekton.TektonV1().TaskRuns(p.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list TaskRuns: %w", err)
	}
	all := pointers(taskRuns.Items)
	sortOut(p, pointers(runs.Items), all, seen)
	return all, nil
}

// livePods returns the names of the pods that have not ended, or that mount the ConfigMap request. It considers only pods that have the
// cluster's label and every label in with. If with is nil, the cluster's label is enough. The
// result includes pods of runs that belong to an earlier Provisioning of the same name.
func (r *Reconciler) livePods(ctx context.Context, p *v1alpha1.Provisioning, with labels.Set, request string) ([]string, error) {
	of := labels.SelectorFromSet(labels.Merge(labels.Set{contract.LabelCluster: p.Name}, with))
	pods, err := r.kube.CoreV1().Pods(p.Namespace).List(ctx, metav1.ListOptions{LabelSelector: of.String()})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var alive []string
	for _, pod := range pods.Items {
		mounts := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == request })
		if mounts || pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			alive = append(alive, pod.Name)
		}
	}
	return alive, nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// sortOut puts the runs of this Provisioning into seen.Runs and seen.Software.Runs, oldest first. It puts the objects that
// an earlier Provisioning of the same name left behind into seen.Leftovers.
func sortOut(p *v1alpha1.Provisioning, runs []*tekton.PipelineRun, taskRuns []*tekton.TaskRun, seen *plan.Seen) {
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
				seen.ForeignRuns = append(seen.ForeignRuns, makeRun(run, nil))
			}
			continue
		}
		of := &seen.Runs
		if run.Labels[contract.LabelOperation] == contract.OperationSoftware {
			of = &seen.Software.Runs
		}
		*of = append(*of, makeRun(run, tasksOf[run.UID]))
		delete(tasksOf, run.UID)
	}
	for _, orphans := range tasksOf {
		for _, tr := range orphans {
			seen.Leftovers = append(seen.Leftovers, tr.Name)
		}
	}
	slices.Sort(seen.Leftovers)
	for _, of := range [][]plan.Run{seen.Runs, seen.Software.Runs} {
		slices.SortFunc(of, func(a, b plan.Run) int { return int(a.Number) - int(b.Number) })
	}
}

func makeRun(run *tekton.PipelineRun, taskRuns []*tekton.TaskRun) plan.Run {
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
	made.Generation, _ = strconv.ParseInt(run.Annotations[runs.AnnotationGeneration], 10, 64) // 0 if an older build of BPA started the run
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
