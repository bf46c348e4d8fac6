package provisioning

import (
	"context"
	"errors"
	"io"

	tektonclient "github.com/tektoncd/pipeline/pkg/client/clientset/versioned"
	tektonlisters "github.com/tektoncd/pipeline/pkg/client/listers/pipeline/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/utils/clock"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	provisioningreconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/provisioning"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// Reconciler reconciles Provisionings. Its listers contain only objects that have the label
// contract.LabelCluster.
type Reconciler struct {
	kube       kubernetes.Interface
	tekton     tektonclient.Interface
	runs       tektonlisters.PipelineRunLister
	taskRuns   tektonlisters.TaskRunLister
	configMaps corelisters.ConfigMapLister
	secrets    corelisters.SecretLister
	bindings   rbaclisters.RoleBindingLister
	backups    listers.BackupLister
	clusters   caches.Clusters
	// packages returns the list of the packages in the site's depot; nil: it is not known, because of the
	// problem. newPackages returns the list that installations use, which do not wait for more uploads.
	packages, newPackages func() (list *protocol.PackageList, problem string)
	hosts                 Hosts
	health                Monitor
	queue                 *queue
	settings              func() caches.Settings
	clock                 clock.PassiveClock
	random                io.Reader
	parsed                parsed
	vars                  *varsCache
	// secretVersion returns the resourceVersion of a Secret from a cache; empty: not known.
	secretVersion func(namespace, name string) string
}

var (
	_ provisioningreconciler.Interface = (*Reconciler)(nil)
	_ provisioningreconciler.Finalizer = (*Reconciler)(nil)
)

// ReconcileKind moves one Provisioning one step forward. p has all its defaults, even if it was
// stored before they existed: knative sets the defaults in a copy for this reconcile. Only the
// status of this copy is written.
func (r *Reconciler) ReconcileKind(ctx context.Context, p *v1alpha1.Provisioning) reconciler.Event {
	return r.visit(ctx, p)
}

// FinalizeKind runs during deletion: it stops active runs and releases the hosts. Package plan
// decides about deletion like about any other state. If FinalizeKind returns nil, the finalizer is
// removed.
func (r *Reconciler) FinalizeKind(ctx context.Context, p *v1alpha1.Provisioning) reconciler.Event {
	return r.visit(ctx, p)
}

func (r *Reconciler) visit(ctx context.Context, p *v1alpha1.Provisioning) reconciler.Event {
	defer r.parsed.about(keyOf(p)).drop()
	now := r.clock.Now()
	seen, err := r.observe(ctx, p, now)
	r.queue.reconciled(p, seen.Limits.Runs, err)
	if err != nil {
		return err
	}
	next := plan.Next(seen, now)
	if err = r.markHosts(ctx, p, seen); err == nil { // before a release, because nobody else may write the mark
		err = r.apply(ctx, p, seen, next)
	}
	if errors.Is(err, errQueued) {
		seen.Queue = r.queue.observe(p, seen.Limits.Runs, now)
		seen.Fix()
		if next, err = plan.Next(seen, now), nil; next.Do == plan.StartRun {
			// A run has ended meanwhile. Nothing else wakes a Provisioning that is not in the queue.
			err = &notYet{"another run has just ended; this one starts in a moment", behind}
		}
	}
	if next.Do == plan.Release && err == nil {
		return r.revokePool(ctx, p.Namespace, p.Name) // the finalizer is removed and the object is deleted, so no status can be written
	}
	waits, beside := r.followSelectHosts(ctx, p, seen, next)
	beside = errors.Join(beside, r.unfence(ctx, p, seen), r.moveEndpoint(ctx, p, &seen), r.ownRequests(ctx, p))
	before := p.Status.DeepCopy()
	plan.Report(p, seen, next, err, beside, now)
	recordEvents(ctx, p, plan.Events(before, &p.Status))
	if waits && (next.After == 0 || next.After > leaving) {
		next.After = leaving
	}
	event := outcome(next, errors.Join(err, beside))
	if event == nil && seen.Deleting {
		// The deletion waits for a change of an object, such as the end of a reset. Without an error,
		// knative would remove the finalizer.
		return controller.NewSkipKey(p.Namespace + "/" + p.Name)
	}
	return event
}

// followSelectHosts does work for the task select-hosts that the task itself may not do, and
// removes the task's access to the hosts when the task has ended. waits asks for another reconcile
// soon.
func (r *Reconciler) followSelectHosts(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) (waits bool, err error) {
	err = r.imageHosts(ctx, p, seen)
	waits, failed := r.revokeHosts(ctx, p, seen, next) // revoke the access even if writing a host has failed
	return waits, errors.Join(err, failed)
}

// recordEvents records Kubernetes events.
func recordEvents(ctx context.Context, p *v1alpha1.Provisioning, events []plan.Event) {
	recorder := controller.GetEventRecorder(ctx)
	if recorder == nil {
		return
	}
	for _, e := range events {
		recorder.Event(p, e.Type, e.Reason, e.Message)
	}
}

// outcome returns what the generated reconciler does next. An error is retried with backoff, and a
// step that waits is repeated after its time. After any other step, the next reconcile follows a
// change of an object.
func outcome(next plan.Step, err error) reconciler.Event {
	var wait *notYet
	switch {
	case errors.As(err, &wait):
		return controller.NewRequeueAfter(wait.after)
	case err != nil:
		return err
	}
	if next.After > 0 {
		return controller.NewRequeueAfter(next.After)
	}
	return nil
}
