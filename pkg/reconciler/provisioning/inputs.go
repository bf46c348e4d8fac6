package provisioning

import (
	"context"
	"crypto/rand"
	"errors"

	tektoninformers "github.com/tektoncd/pipeline/pkg/client/informers/externalversions/pipeline/v1"
	tektonclient "github.com/tektoncd/pipeline/pkg/client/injection/client"
	runinformer "github.com/tektoncd/pipeline/pkg/client/injection/informers/pipeline/v1/pipelinerun/filtered"
	taskruninformer "github.com/tektoncd/pipeline/pkg/client/injection/informers/pipeline/v1/taskrun/filtered"
	coreinformers "k8s.io/client-go/informers/core/v1"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	configmapinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/configmap/filtered"
	secretinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/secret/filtered"
	rolebindinginformer "knative.dev/pkg/client/injection/kube/informers/rbac/v1/rolebinding/filtered"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/logging"

	informers "github.com/akraino-icn/bpa/pkg/client/informers/externalversions/bpa/v1alpha1"
	backupinformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/backup"
	provisioninginformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/provisioning"
	softwareinformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/software"
	"github.com/akraino-icn/bpa/pkg/contract"
	hostcache "github.com/akraino-icn/bpa/pkg/hosts/cache"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/packages"
)

// inputs are the caches that the reconciler reads, and whose changes wake it.
type inputs struct {
	provisionings informers.ProvisioningInformer
	backups       informers.BackupInformer
	softwares     informers.SoftwareInformer
	runs          tektoninformers.PipelineRunInformer
	taskRuns      tektoninformers.TaskRunInformer
	configMaps    coreinformers.ConfigMapInformer
	secrets       coreinformers.SecretInformer
	bindings      rbacinformers.RoleBindingInformer
	packages      *packages.Watcher
	hosts         *hostcache.Cache
}

// inputsOf reads the informers from the context. It ends the program if hosts cannot be watched.
func inputsOf(ctx context.Context) inputs {
	hosts, err := hostcache.New(ctx, injection.GetConfig(ctx))
	if err != nil {
		logging.FromContext(ctx).Fatalw("Cannot watch hosts", "error", err)
	}
	return inputs{
		provisionings: provisioninginformer.Get(ctx),
		backups:       backupinformer.Get(ctx),
		softwares:     softwareinformer.Get(ctx),
		runs:          runinformer.Get(ctx, contract.LabelCluster),
		taskRuns:      taskruninformer.Get(ctx, contract.LabelCluster),
		configMaps:    configmapinformer.Get(ctx, contract.LabelCluster),
		secrets:       secretinformer.Get(ctx, contract.LabelCluster),
		bindings:      rolebindinginformer.Get(ctx, contract.LabelCluster),
		packages:      packages.Get(ctx),
		hosts:         hosts,
	}
}

// reconciler returns the reconciler without what needs its queue of work: health, settings, queue and secretVersion.
func (in inputs) reconciler(ctx context.Context) *Reconciler {
	return &Reconciler{
		kube:       kubeclient.Get(ctx),
		tekton:     tektonclient.Get(ctx),
		runs:       in.runs.Lister(),
		taskRuns:   in.taskRuns.Lister(),
		configMaps: in.configMaps.Lister(),
		secrets:    in.secrets.Lister(),
		bindings:   in.bindings.Lister(),
		backups:    in.backups.Lister(),
		clusters:   caches.NewClusters(in.provisionings.Informer().GetIndexer(), in.softwares.Informer().GetIndexer()),
		packages:   in.packages.Get, newPackages: in.packages.Newest,
		hosts:  in.hosts,
		clock:  clock.RealClock{},
		random: rand.Reader,
		vars:   &varsCache{},
	}
}

// wakeByOwn enqueues a Provisioning that changes, and one of which a run or another object changes that belongs to it. The
// label contract.LabelCluster of these has its name.
func (in inputs) wakeByOwn(ctx context.Context, impl *controller.Impl, q *queue) {
	handle(ctx, in.provisionings.Informer(), impl.Enqueue)
	byLabel := impl.EnqueueLabelOfNamespaceScopedResource("", contract.LabelCluster)
	for _, i := range []cache.SharedIndexInformer{in.runs.Informer(), in.taskRuns.Informer(), in.secrets.Informer()} {
		handle(ctx, i, byLabel)
	}
	handle(ctx, in.bindings.Informer(), enqueueTenant(impl.EnqueueKey))
	handle(ctx, in.configMaps.Informer(), func(o any) {
		if k, is := ofProgress(o); is {
			impl.EnqueueKeyAfter(k, progressDelay(q.flight()))
			return
		}
		byLabel(o)
	})
}

// wakeByOthers enqueues the Provisionings that a change of something concerns which does not belong to them: a host, a
// Backup, a Software, the packages of the depot, the Secret of a user. It ends the program if these cannot be watched.
func (in inputs) wakeByOthers(ctx context.Context, impl *controller.Impl, r *Reconciler) {
	logger, provisionings := logging.FromContext(ctx), in.provisionings.Informer()
	wake := waker{lister: in.provisionings.Lister(), pools: provisionings.GetIndexer(), busy: r.queue.busy, enqueue: impl.EnqueueKey}
	addHandler(ctx, in.backups.Informer(), controller.HandleAll(wake.backupChanged))
	software := softwareWaker{clusters: r.clusters, softwares: in.softwares.Lister(), enqueue: impl.EnqueueKey}
	addHandler(ctx, in.softwares.Informer(), software.handler())
	in.packages.OnChange(software.packagesChanged)
	if err := errors.Join(caches.IndexClusters(provisionings), caches.IndexClusters(in.softwares.Informer())); err != nil {
		logger.Fatalw("Cannot index the caches", "error", err)
	}
	if err := errors.Join(in.hosts.Watch(ctx, wake.hostChanged), in.hosts.WatchTenants(ctx, wake.granted, wake.tenantChanged), in.hosts.Start(ctx)); err != nil {
		logger.Fatalw("Cannot watch hosts", "error", err)
	}
	var err error
	if r.secretVersion, err = watchSecrets(ctx, injection.GetConfig(ctx), wake.secretChanged); err != nil {
		logger.Fatalw("Cannot watch Secrets", "error", err)
	}
}
