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
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	bpaclient "github.com/akraino-icn/bpa/pkg/client/injection/client"
	backupinformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/backup"
	provisioninginformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/provisioning"
	backupreconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// options are the options of the generated reconciler. See package provisioning about the finalizer.
var options = controller.Options{FinalizerName: "bpa.akraino.org/backup"}

// tokenFile has the controller's token for the depot. It does not exist on a site whose depot needs no
// token.
const tokenFile = "/var/run/secrets/bpa.akraino.org/depot/token"

// workers is the number of Backups that are reconciled at a time. A deletion may wait for the depot as
// long as finalizeLimit, so there are more than the default of 2, and half of them delete no copies.
const workers = 8

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
		turns:         &turns{backups: backups.Lister(), runs: runs.Lister()},
		clock:         clock.RealClock{},
		depot:         connect,
		deletions:     make(chan struct{}, workers/2),
	}
	impl := backupreconciler.NewImpl(ctx, r, func(*controller.Impl) controller.Options { return options })
	impl.Concurrency = workers
	r.settings = caches.WatchSettings(ctx, cmw, func() { impl.GlobalResync(backups.Informer()) })

	for _, informer := range []cache.SharedIndexInformer{runs.Informer(), taskRuns.Informer()} {
		if err := informer.SetTransform(caches.Strip); err != nil {
			logging.FromContext(ctx).Fatalw("Cannot set the transform function", "error", err)
		}
		handle(ctx, informer, impl.EnqueueLabelOfNamespaceScopedResource("", contract.LabelBackup))
	}
	handle(ctx, backups.Informer(), impl.Enqueue)
	wake := waker{backups.Lister(), impl.EnqueueKey}
	handle(ctx, backups.Informer(), wake.backupChanged)
	handle(ctx, provisionings.Informer(), wake.provisioningChanged)
	handle(ctx, clusterRuns.Informer(), wake.runChanged)
	q := &queueWaker{backups: backups.Lister(), limit: func() int { return r.settings().MaxBackups }, enqueue: impl.EnqueueKeyAfter}
	r.turns.wake = q.wake
	watch(ctx, backups.Informer(), q.backupEvents())
	watch(ctx, runs.Informer(), q.runEvents())
	return impl
}

// NewScheduler creates the controller of the schedules.
func NewScheduler(ctx context.Context, cmw configmap.Watcher) *controller.Impl {
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
	s.settings = caches.WatchSettings(ctx, cmw, func() { impl.GlobalResync(provisionings.Informer()) })
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
	watch(ctx, informer, controller.HandleAll(enqueue))
}

func watch(ctx context.Context, informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) {
	if _, err := informer.AddEventHandler(handler); err != nil {
		logging.FromContext(ctx).Fatalw("Cannot add an event handler", "error", err)
	}
}
