package backup

import (
	"context"
	"fmt"

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
)

// artifactOf returns the name of the copy in the depot. It does not depend on the status, so that the
// copy of a run that has failed late is found, too.
func artifactOf(b *v1alpha1.Backup) protocol.Ref {
	return backup.Place(b.Namespace, b.Spec.Provisioning, backup.Artifact(b.Name, string(b.UID)))
}

// FinalizeKind stops the run, and deletes the copy in the depot. If it returns nil, the finalizer is
// removed.
func (r *Reconciler) FinalizeKind(ctx context.Context, b *v1alpha1.Backup) reconciler.Event {
	run, err := r.tekton.TektonV1().PipelineRuns(b.Namespace).Get(ctx, runName(b), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get PipelineRun %s: %w", runName(b), err)
	}
	if err == nil && metav1.IsControlledBy(run, b) {
		if b.Status.Run == "" { // the status was not written before the deletion
			adopt(b, run)
		}
		if done, err := r.stop(ctx, run); !done {
			return err
		}
	}
	pods, err := r.kube.CoreV1().Pods(b.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{contract.LabelBackup: b.Name}).String()})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for _, pod := range pods.Items { // it may still complete its upload
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			return controller.NewRequeueAfter(again)
		}
	}
	return r.deleteArtifact(ctx, b)
}

// stop cancels the run. done reports that it has ended.
func (r *Reconciler) stop(ctx context.Context, run *tekton.PipelineRun) (done bool, err error) {
	if run.IsDone() {
		return true, nil
	}
	if !run.IsCancelled() {
		_, err := r.tekton.TektonV1().PipelineRuns(run.Namespace).Patch(ctx, run.Name, types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"status":%q}}`, tekton.PipelineRunSpecStatusCancelled), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("cancel PipelineRun %s: %w", run.Name, err)
		}
	}
	return false, controller.NewRequeueAfter(again)
}

// deleteArtifact deletes the copy. The controller deletes only from the site's depot: it has no rights
// in another one, and does not send its token there.
func (r *Reconciler) deleteArtifact(ctx context.Context, b *v1alpha1.Backup) error {
	site := r.settings().Depot
	switch {
	case b.Status.Depot == "":
		return nil // no run was started
	case b.Status.Depot != site.URL:
		if recorder := controller.GetEventRecorder(ctx); recorder != nil {
			recorder.Event(b, corev1.EventTypeWarning, "ArtifactKept", fmt.Sprintf("the depot %s is not the site's depot, so %s stays there: delete it by hand", b.Status.Depot, b.Status.Artifact))
		}
		return nil
	}
	depot, err := r.depot(ctx, site)
	if err != nil {
		return fmt.Errorf("delete the copy of Backup %s: %w", b.Name, err)
	}
	defer depot.Close()
	if err := depot.DeleteArtifact(ctx, artifactOf(b)); err != nil {
		return fmt.Errorf("delete the copy of Backup %s: %w", b.Name, err)
	}
	return nil
}
