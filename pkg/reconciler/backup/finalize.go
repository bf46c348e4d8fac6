package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// artifactOf returns the name of the copy in the depot. It does not depend on the status, so that the
// copy of a run that has failed late is found, too.
func artifactOf(b *v1alpha1.Backup) protocol.Ref {
	return backup.Place(b.Namespace, b.Spec.Provisioning, backup.Artifact(b.Name, string(b.UID)))
}

// finalizeLimit limits one call of FinalizeKind. It is shorter than the depot client's own limits, because
// a call that waits keeps a worker busy.
const finalizeLimit = 30 * time.Second

// FinalizeKind stops the run, and deletes the copy in the depot. If it returns nil, the finalizer is
// removed.
func (r *Reconciler) FinalizeKind(ctx context.Context, b *v1alpha1.Backup) reconciler.Event {
	ctx, cancel := context.WithTimeout(ctx, finalizeLimit)
	defer cancel()
	run, err := r.tekton.TektonV1().PipelineRuns(b.Namespace).Get(ctx, runName(b), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get PipelineRun %s: %w", runName(b), err)
	}
	if err != nil || !metav1.IsControlledBy(run, b) {
		run = nil
	}
	ended := true
	if run != nil {
		if b.Status.Run == "" { // the status was not written before the deletion
			adopt(b, run)
		}
		if ended, err = r.stop(ctx, run); err != nil {
			return err
		}
	}
	if b.Annotations[contract.AnnotationKeepCopy] == contract.KeepCopy {
		r.keep(ctx, b, "annotation "+contract.AnnotationKeepCopy+" requests that the copy stays")
		return nil
	}
	if !ended {
		return controller.NewRequeueAfter(r.pause(b))
	}
	pod, err := r.activePod(ctx, b, run)
	if err != nil {
		return err
	}
	if pod != nil { // it may still complete its upload
		r.reportPod(ctx, b, pod)
		return controller.NewRequeueAfter(r.pause(b))
	}
	if r.isRestored(b) {
		if recorder := controller.GetEventRecorder(ctx); recorder != nil {
			recorder.Event(b, corev1.EventTypeWarning, "WaitingForRestore", fmt.Sprintf("the copy stays until the restore of the cluster of Provisioning %s from it is complete, because the cluster cannot be used before: "+
				"`kubectl bpa status -n %s %s`", b.Spec.Provisioning, b.Namespace, b.Spec.Provisioning))
		}
		return controller.NewRequeueAfter(r.pause(b))
	}
	return r.deleteArtifact(ctx, b)
}

// isRestored reports whether a restore from this Backup has begun and is not complete. It needs the copy
// until its end.
func (r *Reconciler) isRestored(b *v1alpha1.Backup) bool {
	p, err := r.provisionings.Provisionings(b.Namespace).Get(b.Spec.Provisioning)
	return err == nil && p.DeletionTimestamp == nil && p.Status.IsRestoring() && p.Status.Restore.Backup == b.Name
}

// stop cancels the run. done reports that it has ended.
func (r *Reconciler) stop(ctx context.Context, run *tekton.PipelineRun) (done bool, err error) {
	if run.IsDone() || run.IsCancelled() {
		return run.IsDone(), nil
	}
	_, err = r.tekton.TektonV1().PipelineRuns(run.Namespace).Patch(ctx, run.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"status":%q}}`, tekton.PipelineRunSpecStatusCancelled), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("cancel PipelineRun %s: %w", run.Name, err)
	}
	return false, nil
}

// Limits of the time until the next look at a Backup that is being deleted.
const (
	shortestPause = 2 * time.Second
	longestPause  = 5 * time.Minute
)

// pause returns the time until the next look at a Backup that is being deleted: a quarter of the time
// that the deletion has taken so far, because a pod on a dead node can stay for days.
func (r *Reconciler) pause(b *v1alpha1.Backup) time.Duration {
	return min(max(r.clock.Since(b.DeletionTimestamp.Time)/4, shortestPause), longestPause)
}

// activePod returns a pod of the run that has not ended; nil: there is none. run is nil if the run does
// not exist any more.
func (r *Reconciler) activePod(ctx context.Context, b *v1alpha1.Backup, run *tekton.PipelineRun) (*corev1.Pod, error) {
	pods, err := r.kube.CoreV1().Pods(b.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{contract.LabelBackup: b.Name}).String()})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed && r.isOfRun(pod, b, run) {
			return pod, nil
		}
	}
	return nil, nil
}

// isOfRun reports whether a pod belongs to a TaskRun of the run. A label alone proves nothing: users can
// set it on their pods.
func (r *Reconciler) isOfRun(pod *corev1.Pod, b *v1alpha1.Backup, run *tekton.PipelineRun) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != pipeline.TaskRunControllerName || pod.Labels[pipeline.PipelineRunLabelKey] != runName(b) {
		return false
	}
	taskRun, err := r.taskRuns.TaskRuns(b.Namespace).Get(owner.Name)
	if err != nil {
		return true // the cache is stale, or the TaskRun was deleted before its pod
	}
	return taskRun.UID == owner.UID && (run == nil || metav1.IsControlledBy(taskRun, run))
}

// reportPod records an event if a pod delays the deletion for more than a minute.
func (r *Reconciler) reportPod(ctx context.Context, b *v1alpha1.Backup, pod *corev1.Pod) {
	recorder := controller.GetEventRecorder(ctx)
	if recorder == nil || r.clock.Since(b.DeletionTimestamp.Time) < time.Minute {
		return
	}
	recorder.Event(b, corev1.EventTypeWarning, "WaitingForPod", fmt.Sprintf("pod %s on node %s has not ended and may still store the copy. If the node is gone for ever: `kubectl delete pod -n %s %s --force`. %s",
		pod.Name, pod.Spec.NodeName, pod.Namespace, pod.Name, giveUp(b)))
}

// giveUp returns the advice how to delete a Backup without its copy.
func giveUp(b *v1alpha1.Backup) string {
	return fmt.Sprintf("To delete the Backup and leave the copy in the depot: `kubectl annotate bpabackup -n %s %s %s=%s`", b.Namespace, b.Name, contract.AnnotationKeepCopy, contract.KeepCopy)
}

// keep records that the copy stays in the depot. It does nothing if no run was started.
func (r *Reconciler) keep(ctx context.Context, b *v1alpha1.Backup, why string) {
	if recorder := controller.GetEventRecorder(ctx); recorder != nil && b.Status.Depot != "" {
		recorder.Event(b, corev1.EventTypeWarning, "ArtifactKept", fmt.Sprintf("%s: if the depot %s has %s, delete it by hand", why, b.Status.Depot, b.Status.Artifact))
	}
}

// deleteArtifact deletes the copy. The controller deletes only from the site's depot: it has no rights
// in another one, and does not send its token there.
func (r *Reconciler) deleteArtifact(ctx context.Context, b *v1alpha1.Backup) error {
	if b.Status.Depot == "" {
		return nil // no run was started
	}
	site := r.settings()
	if site.Invalid != "" { // the address may be an old one, or missing
		return fmt.Errorf("the copy of Backup %s is deleted when the site's settings are valid: %s. %s", b.Name, site.Invalid, giveUp(b))
	}
	if rest := r.keepForAge(ctx, b, site.BackupMinAge); rest > 0 {
		return controller.NewRequeueAfter(min(rest, longestPause))
	}
	select {
	case r.deletions <- struct{}{}:
		defer func() { <-r.deletions }()
	default:
		return controller.NewRequeueAfter(r.pause(b))
	}
	if err := r.deleteFrom(ctx, site.Depot, b); err != nil {
		return fmt.Errorf("delete the copy of Backup %s: %w. %s", b.Name, err, giveUp(b))
	}
	return nil
}

// keepForAge returns how long the copy must stay yet because it is younger than the site wants, and writes that into
// the status. A Backup that failed protects nothing.
func (r *Reconciler) keepForAge(ctx context.Context, b *v1alpha1.Backup, age time.Duration) time.Duration {
	until := metav1.NewTime(b.CreationTimestamp.Add(age).Truncate(time.Second)) // the status has whole seconds
	rest := until.Sub(r.clock.Now())
	if !b.Status.IsSucceeded() || rest <= 0 {
		b.Status.KeptUntil = nil
		return 0
	}
	recorder := controller.GetEventRecorder(ctx)
	if recorder != nil && !until.Equal(b.Status.KeptUntil) {
		recorder.Event(b, corev1.EventTypeWarning, "WaitingForAge", fmt.Sprintf("the copy stays until %s, because the site keeps each one for %s (backup-min-age of ConfigMap %s in namespace %s); "+
			"until then the cluster can be restored from it. To delete it earlier, lower backup-min-age. %s", until.UTC().Format(time.RFC3339), age, settings.Name, settings.Namespace, giveUp(b)))
	}
	b.Status.KeptUntil = &until
	return rest
}

// deleteFrom deletes the copy from the site's depot, if it is there. The depot of the Backup may be the
// same one under an earlier address: then the site's depot has the same artifact with the same digest.
func (r *Reconciler) deleteFrom(ctx context.Context, site settings.Depot, b *v1alpha1.Backup) error {
	const other = "the depot of the Backup is not the site's depot"
	if site.URL == "" {
		r.keep(ctx, b, other)
		return nil
	}
	depot, err := r.depot(ctx, site)
	if err != nil {
		return err
	}
	defer depot.Close()
	if b.Status.Depot != site.URL {
		state, there, err := depot.FileState(ctx, artifactOf(b).FilePath(), true)
		if err != nil {
			return err
		}
		if !there || b.Status.SHA256 == "" || state.SHA256 != b.Status.SHA256 {
			r.keep(ctx, b, other)
			return nil
		}
	}
	return depot.DeleteArtifact(ctx, artifactOf(b))
}
