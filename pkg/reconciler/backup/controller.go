package backup

import (
	"context"
	"os"

	tektonclient "github.com/tektoncd/pipeline/pkg/client/injection/client"
	runinformer "github.com/tektoncd/pipeline/pkg/client/injection/informers/pipeline/v1/pipelinerun/filtered"
	taskruninformer "github.com/tektoncd/pipeline/pkg/client/injection/informers/pipeline/v1/taskrun/filtered"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/kmeta"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	bpaclient "github.com/akraino-icn/bpa/pkg/client/injection/client"
	backupinformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/backup"
	provisioninginformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/provisioning"
	backupreconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/backup"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// options are the options of the generated reconciler. See package provisioning about the finalizer.
var options = controller.Options{FinalizerName: "bpa.akraino.org/backup"}

// tokenFile has the controller's token for the depot. It does not exist on a site whose depot needs no
// token.
const tokenFile = "/var/run/secrets/bpa.akraino.org/depot/token"

// NewController creates the reconciler of Backups. Package provisioning sets the selectors of the
// informers.
func NewController(ctx context.Context, cmw configmap.Watcher) *controller.Impl {
	backups, provisionings := backupinformer.Get(ctx), provisioninginformer.Get(ctx)
	runs, clusterRuns := runinformer.Get(ctx, contract.LabelBackup), runinformer.Get(ctx, contract.LabelCluster)
	taskRuns := taskruninformer.Get(ctx, contract.LabelBackup)
	r := &Reconciler{
		kube:          kubeclient.Get(ctx),
		tekton:        tektonclient.Get(ctx),
		backups:       backups.Lister(),
		provisionings: provisionings.Lister(),
		runs:          runs.Lister(),
		clusterRuns:   clusterRuns.Lister(),
		taskRuns:      taskRuns.Lister(),
		depot:         connect,
	}
	impl := backupreconciler.NewImpl(ctx, r, func(*controller.Impl) controller.Options { return options })
	r.settings = provisioning.WatchSettings(ctx, cmw, func() { impl.GlobalResync(backups.Informer()) })

	for _, informer := range []cache.SharedIndexInformer{runs.Informer(), taskRuns.Informer()} {
		if err := informer.SetTransform(provisioning.Strip); err != nil {
			logging.FromContext(ctx).Fatalw("Cannot set the transform function", "error", err)
		}
		handle(ctx, informer, impl.EnqueueLabelOfNamespaceScopedResource("", contract.LabelBackup))
	}
	handle(ctx, backups.Informer(), impl.Enqueue)
	wake := waker{backups.Lister(), impl.EnqueueKey}
	handle(ctx, backups.Informer(), wake.backupChanged)
	handle(ctx, provisionings.Informer(), wake.provisioningChanged)
	handle(ctx, clusterRuns.Informer(), wake.runChanged)
	return impl
}

// NewScheduler creates the controller of the schedules.
func NewScheduler(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	backups, provisionings := backupinformer.Get(ctx), provisioninginformer.Get(ctx)
	s := &Scheduler{bpa: bpaclient.Get(ctx), provisionings: provisionings.Lister(), backups: backups.Lister(), clock: clock.RealClock{}}
	s.PromoteFunc = func(bucket reconciler.Bucket, enqueue func(reconciler.Bucket, types.NamespacedName)) error {
		all, err := provisionings.Lister().List(labels.Everything())
		for _, p := range all {
			enqueue(bucket, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
		}
		return err
	}
	impl := controller.NewContext(ctx, s, controller.ControllerOptions{WorkQueueName: "bpa-backup-schedules", Logger: logging.FromContext(ctx)})
	handle(ctx, provisionings.Informer(), impl.Enqueue)
	handle(ctx, backups.Informer(), func(o any) {
		if b, ok := backupOf(o); ok && b.Labels[contract.LabelBackupOf] != "" {
			impl.EnqueueKey(types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.Provisioning})
		}
	})
	return impl
}

// connect returns a client of the site's depot with the controller's own token.
func connect(ctx context.Context, site settings.Depot) (Depot, error) {
	o := client.Options{CA: []byte(site.CA)}
	if _, err := os.Stat(tokenFile); err == nil {
		o.TokenFile = tokenFile
	}
	return client.Connect(ctx, site.URL, o)
}

func handle(ctx context.Context, informer cache.SharedIndexInformer, enqueue func(any)) {
	if _, err := informer.AddEventHandler(controller.HandleAll(enqueue)); err != nil {
		logging.FromContext(ctx).Fatalw("Cannot add an event handler", "error", err)
	}
}

// waker enqueues the Backups that may wait for another object.
type waker struct {
	lister  listers.BackupLister
	enqueue func(types.NamespacedName)
}

func backupOf(o any) (*v1alpha1.Backup, bool) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	b, ok := o.(*v1alpha1.Backup)
	return b, ok
}

// backupChanged enqueues the Backups that wait for the end of another one.
func (w waker) backupChanged(o any) {
	if b, ok := backupOf(o); ok && (b.Status.IsDone() || b.DeletionTimestamp != nil) {
		w.waiting(b.Namespace, b.Spec.Provisioning)
	}
}

func (w waker) provisioningChanged(o any) {
	if p, err := kmeta.DeletionHandlingAccessor(o); err == nil {
		w.waiting(p.GetNamespace(), p.GetName())
	}
}

// runChanged enqueues the Backups that wait for the end of a run of their Provisioning.
func (w waker) runChanged(o any) {
	if run, err := kmeta.DeletionHandlingAccessor(o); err == nil {
		w.waiting(run.GetNamespace(), run.GetLabels()[contract.LabelCluster])
	}
}

func (w waker) waiting(namespace, provisioning string) {
	all, err := w.lister.Backups(namespace).List(labels.Everything())
	if err != nil {
		return
	}
	for _, b := range all {
		if b.Spec.Provisioning == provisioning && !b.Status.IsDone() && b.Status.Run == "" {
			w.enqueue(types.NamespacedName{Namespace: b.Namespace, Name: b.Name})
		}
	}
}
