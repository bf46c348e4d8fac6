package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	tektonclient "github.com/tektoncd/pipeline/pkg/client/clientset/versioned"
	tektonlisters "github.com/tektoncd/pipeline/pkg/client/listers/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	backupreconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/backup"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/reconciler/backup/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// Reconciler reconciles Backups.
type Reconciler struct {
	kube          kubernetes.Interface
	tekton        tektonclient.Interface
	backups       listers.BackupLister
	provisionings listers.ProvisioningLister
	// runs and taskRuns have the label contract.LabelBackup, clusterRuns contract.LabelCluster.
	runs, clusterRuns tektonlisters.PipelineRunLister
	taskRuns          tektonlisters.TaskRunLister
	turns             *turns
	clock             clock.PassiveClock
	settings          func() caches.Settings
	depot             func(ctx context.Context, site settings.Depot) (Depot, error)
	// deletions has an element for each deletion of a copy that may run at the same time, so that a
	// depot that does not answer leaves workers for other Backups.
	deletions chan struct{}
}

// Depot is the site's depot.
type Depot interface {
	FileState(ctx context.Context, path string, checksum bool) (state artifacts.FileState, there bool, err error)
	DeleteArtifact(ctx context.Context, ref protocol.Ref) error
	Close()
}

var (
	_ backupreconciler.Interface = (*Reconciler)(nil)
	_ backupreconciler.Finalizer = (*Reconciler)(nil)
)

// again is how long to wait for a stale cache.
const again = 2 * time.Second

// ReconcileKind moves one Backup one step forward. Once it has succeeded or failed, nothing changes.
func (r *Reconciler) ReconcileKind(ctx context.Context, b *v1alpha1.Backup) reconciler.Event {
	if b.Status.IsDone() {
		return nil
	}
	seen, p, err := r.observe(ctx, b)
	if err != nil {
		return err
	}
	step := plan.Next(seen)
	if step.Do == plan.Start {
		if seen.Turn, err = r.turns.take(b, r.settings().MaxBackups); err != nil {
			return err
		}
		step = plan.Next(seen)
	}
	if step.Do == plan.Start {
		if err = r.start(ctx, b, p); err != nil {
			r.turns.giveBack(b)
		}
	}
	plan.Report(&b.Status, seen, step, err)
	recordEnd(ctx, b)
	var wait *notYet
	if errors.As(err, &wait) {
		return controller.NewRequeueAfter(wait.after)
	}
	return err
}

// recordEnd records an event when the Backup has succeeded or failed.
func recordEnd(ctx context.Context, b *v1alpha1.Backup) {
	recorder := controller.GetEventRecorder(ctx)
	switch c := b.Status.GetCondition(v1alpha1.ConditionSucceeded); {
	case recorder == nil:
	case c.IsTrue():
		recorder.Event(b, corev1.EventTypeNormal, c.Reason, fmt.Sprintf("stored %s (%d bytes)", b.Status.Artifact, b.Status.Size))
	case c.IsFalse():
		recorder.Event(b, corev1.EventTypeWarning, c.Reason, c.Message)
	}
}

// notYet is returned if the run cannot start now. It is not a failure: the message tells the user what
// to do, or the obstacle disappears by itself.
type notYet struct {
	why   string
	after time.Duration
}

func (n *notYet) Error() string { return n.why }
