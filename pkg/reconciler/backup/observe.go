package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/backup/plan"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// observe reads the state of a Backup from the caches. It also returns the Provisioning with its
// defaults; nil: it does not exist.
func (r *Reconciler) observe(ctx context.Context, b *v1alpha1.Backup) (plan.Seen, *v1alpha1.Provisioning, error) {
	site := r.settings()
	seen := plan.Seen{
		Namespace: b.Namespace, Name: b.Name, Provisioning: b.Spec.Provisioning,
		Done: b.Status.IsDone(), Started: b.Status.Run != "", Settings: site.Invalid,
	}
	if err := r.observeRun(ctx, b, &seen); err != nil {
		return seen, nil, err
	}
	p, err := r.provisionings.Provisionings(b.Namespace).Get(b.Spec.Provisioning)
	if apierrors.IsNotFound(err) {
		seen.Missing = true
		return seen, nil, nil
	}
	if err != nil {
		return seen, nil, fmt.Errorf("get Provisioning %s: %w", b.Spec.Provisioning, err)
	}
	p = p.DeepCopy()
	p.SetDefaults(ctx)
	seen.Leaving, seen.Installed = p.DeletionTimestamp != nil, p.Status.InstalledDigest != ""
	seen.Restoring = p.Status.IsRestoring()
	seen.Depot = depotProblem(p, site.Depot)
	if err := r.observeCluster(p, &seen); err != nil {
		return seen, nil, err
	}
	seen.Before, err = r.before(b)
	return seen, p, err
}

// depotProblem returns why the depot cannot store a backup; empty: it can.
func depotProblem(p *v1alpha1.Provisioning, site settings.Depot) string {
	if problem := from.DepotProblem(p, site); problem != "" {
		return problem
	}
	if request, err := from.Provisioning(p, site); err == nil && request.DepotURL == "" {
		return fmt.Sprintf("there is no depot to store the backup in: set depot-url with `kubectl edit configmap %s -n %s`, or spec.depot.url of Provisioning %s",
			settings.Name, settings.Namespace, p.Name)
	}
	return ""
}

// observeRun reads the run of the Backup. If the status names a run that is not in the cache, it asks
// the API server itself.
func (r *Reconciler) observeRun(ctx context.Context, b *v1alpha1.Backup, seen *plan.Seen) error {
	run, err := r.runs.PipelineRuns(b.Namespace).Get(runName(b))
	if apierrors.IsNotFound(err) && seen.Started {
		run, err = r.tekton.TektonV1().PipelineRuns(b.Namespace).Get(ctx, runName(b), metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get PipelineRun %s: %w", runName(b), err)
	}
	if !metav1.IsControlledBy(run, b) {
		return nil
	}
	taskRuns, err := r.taskRuns.TaskRuns(b.Namespace).List(labels.SelectorFromSet(labels.Set{contract.LabelBackup: b.Name}))
	if err != nil {
		return fmt.Errorf("list TaskRuns: %w", err)
	}
	seen.Run = makeRun(run, taskRuns)
	adopt(b, run)
	return nil
}

// makeRun converts a run. A run counts as active until the results of its task are in the cache.
func makeRun(run *tekton.PipelineRun, taskRuns []*tekton.TaskRun) *plan.Run {
	condition := run.Status.GetCondition(apis.ConditionSucceeded)
	seen := convert.Run(run)
	made := &plan.Run{State: runs.StateOf(condition), Completed: runs.Completed(seen), Tasks: runs.Tasks(seen, convert.TaskRuns(taskRuns))}
	if condition != nil {
		made.Reason, made.Message = condition.Reason, condition.Message
	}
	if run.Status.StartTime != nil {
		made.Started = run.Status.StartTime.Time
	}
	late := len(made.Tasks) < len(run.Status.ChildReferences) || slices.ContainsFunc(made.Tasks, func(t runs.Task) bool { return t.State == runs.Active })
	if made.State == runs.Succeeded && late {
		made.State = runs.Active
	}
	return made
}

// observeCluster looks for an active run of the Provisioning.
func (r *Reconciler) observeCluster(p *v1alpha1.Provisioning, seen *plan.Seen) error {
	all, err := r.clusterRuns.PipelineRuns(p.Namespace).List(labels.SelectorFromSet(labels.Set{contract.LabelCluster: p.Name}))
	if err != nil {
		return fmt.Errorf("list PipelineRuns: %w", err)
	}
	for _, run := range all {
		if !run.IsDone() && metav1.IsControlledBy(run, p) {
			seen.ClusterRun, seen.Operation = run.Name, run.Labels[contract.LabelOperation]
		}
	}
	return nil
}

// before returns the name of another Backup of the same Provisioning that runs, or that waits longer.
func (r *Reconciler) before(b *v1alpha1.Backup) (string, error) {
	all, err := r.backups.Backups(b.Namespace).List(labels.Everything())
	if err != nil {
		return "", fmt.Errorf("list Backups: %w", err)
	}
	for _, o := range all {
		if o.Name == b.Name || o.Spec.Provisioning != b.Spec.Provisioning || o.Status.IsDone() || o.DeletionTimestamp != nil {
			continue
		}
		older := o.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		if o.Status.Run != "" || older < 0 || older == 0 && strings.Compare(o.Name, b.Name) < 0 {
			return o.Name, nil
		}
	}
	return "", nil
}
