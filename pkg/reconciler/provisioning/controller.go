package provisioning

import (
	"context"
	"errors"
	"slices"
	"time"

	tektonfactory "github.com/tektoncd/pipeline/pkg/client/injection/informers/factory/filtered"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	kubefactory "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	provisioningreconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/provisioning"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health/monitor"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// options are the options of the generated reconciler. The finalizer has a path in its name,
// because the API server warns about finalizers without a path. The default finalizer has none.
var options = controller.Options{FinalizerName: "bpa.akraino.org/provisioning"}

// WithSelectors limits the informers of this package to objects that belong to a Provisioning, and
// those of package backup to runs of a Backup. Other objects in the cluster are neither read nor
// cached.
func WithSelectors(ctx context.Context) context.Context {
	return kubefactory.WithSelectors(tektonfactory.WithSelectors(ctx, contract.LabelCluster, contract.LabelBackup), contract.LabelCluster)
}

// NewController creates the reconciler with its clients and informers.
func NewController(ctx context.Context, cmw configmap.Watcher) *controller.Impl {
	in := inputsOf(ctx)
	r := in.reconciler(ctx)
	// A replica that is no leader any more does not look at the clusters of another leader.
	var looks *monitor.Monitor
	impl := provisioningreconciler.NewImpl(ctx, r, func(impl *controller.Impl) controller.Options {
		looks = monitor.New(impl.EnqueueKey)
		o := options
		o.DemoteFunc = func(b reconciler.Bucket) { looks.ForgetAll(b.Has) }
		return o
	})
	r.health = looks
	go looks.Run(ctx)
	r.settings = caches.WatchSettings(ctx, cmw, func() { impl.GlobalResync(in.provisionings.Informer()) })
	FollowDepot(ctx, cmw, in.packages)
	r.queue = watchQueue(ctx, in.runs.Informer(), in.provisionings.Informer(), func() int { return r.settings().MaxRuns }, impl)

	in.wakeByOwn(ctx, impl, r.queue)
	addHandler(ctx, in.provisionings.Informer(), forgetDeleted(looks.Forget, r.parsed.forget, r.vars.forget))
	in.wakeByOthers(ctx, impl, r)
	go logOrphans(ctx, in.provisionings, in.hosts)
	return impl
}

// ofProgress reports whether an object is the ConfigMap with the progress of a run, and of which Provisioning.
func ofProgress(o any) (of key, is bool) {
	cm, ok := o.(*corev1.ConfigMap)
	if !ok {
		return of, false
	}
	of = key{Namespace: cm.Namespace, Name: cm.Labels[contract.LabelCluster]}
	return of, cm.Name == contract.ProgressName(of.Name)
}

// progressDelay is the time after which a change of the progress shows, by the number of active runs. Each run changes it
// once a second. With hundreds of runs, the visits for it would delay those for the ends of tasks and for failures.
// Changes within this time need one visit together.
func progressDelay(flight int) time.Duration {
	return min(time.Duration(flight)*10*time.Millisecond, 8*time.Second)
}

// watchQueue creates the queue of runs, and wakes those who wait in it. The first ones can start at
// once. For the others only the place has changed, which is not urgent.
func watchQueue(ctx context.Context, runs, provisionings cache.SharedIndexInformer, limit func() int, impl *controller.Impl) *queue {
	logger := logging.FromContext(ctx)
	if err := errors.Join(runs.AddIndexers(runIndex), provisionings.AddIndexers(waitingIndex)); err != nil {
		logger.Fatalw("Cannot index the caches", "error", err)
	}
	q := newQueue(runs.GetIndexer(), provisionings.GetIndexer(), func(first, others []key) {
		for _, k := range first {
			impl.EnqueueKey(k)
		}
		for _, k := range others {
			impl.EnqueueSlowKey(k)
		}
	})
	watch := func(informer cache.SharedIndexInformer, changed func(limit int, before, after any)) {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(before, after any) { changed(limit(), before, after) },
			DeleteFunc: func(o any) {
				if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				changed(limit(), o, nil)
			},
		})
		if err != nil {
			logger.Fatalw("Cannot add an event handler", "error", err)
		}
	}
	watch(runs, q.runChanged)
	watch(provisionings, q.provisioningChanged)
	return q
}

func handle(ctx context.Context, informer cache.SharedIndexInformer, enqueue func(any)) {
	if err := informer.SetTransform(caches.Strip); err != nil {
		logging.FromContext(ctx).Fatalw("Cannot set the transform function", "error", err)
	}
	addHandler(ctx, informer, controller.HandleAll(enqueue))
}

func addHandler(ctx context.Context, informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) {
	if _, err := informer.AddEventHandler(handler); err != nil {
		logging.FromContext(ctx).Fatalw("Cannot add an event handler", "error", err)
	}
}

// waker enqueues the Provisionings that are affected by a change of another object.
type waker struct {
	lister  listers.ProvisioningLister
	pools   cache.Indexer  // the same Provisionings, with waitingIndex
	busy    func(key) bool // reports whether the cache has an active run of the Provisioning
	enqueue func(key)
}

// hostChanged enqueues the Provisionings that held the host before the change or hold it now. It
// also enqueues all Provisionings that may wait for a host. These are the ones that still need
// something, and the ones with problems of hosts: their cluster can be Ready although a lost host is
// not replaced yet. A cluster that is only unhealthy waits for no host, and neither does one with an active run: the end
// of the run wakes it. Otherwise, each host that one of many runs claims would wake all others.
func (w waker) hostChanged(namespace, _ string, holders ...types.NamespacedName) {
	for _, holder := range holders {
		p, err := w.lister.Provisionings(holder.Namespace).Get(holder.Name)
		if err == nil && p.HostNamespace() == namespace {
			w.enqueue(keyOf(p))
		}
	}
	waiting, _ := w.pools.ByIndex(byPool, namespace) // fails only if the index is missing
	for _, o := range waiting {
		if k := keyOf(o.(*v1alpha1.Provisioning)); !slices.Contains(holders, types.NamespacedName(k)) && !w.busy(k) {
			w.enqueue(k)
		}
	}
}

// mayWaitForHost reports whether a Provisioning still needs something, or lacks the replacement of a lost host.
func mayWaitForHost(p *v1alpha1.Provisioning) bool {
	return !p.Status.NeedsNothing() || p.Status.GetCondition(v1alpha1.ConditionHostsHealthy).IsFalse()
}

// granted enqueues the Provisionings that may wait for a policy of this namespace, as hostChanged does for its hosts.
func (w waker) granted(namespace string) { w.hostChanged(namespace, "") }

// tenantChanged enqueues the Provisionings of a namespace that may wait for a label of the namespace, which a policy
// wants, or for a higher limit of hosts.
func (w waker) tenantChanged(namespace string) {
	all, err := w.lister.Provisionings(namespace).List(labels.Everything())
	if err != nil {
		return
	}
	for _, p := range all {
		if mayWaitForHost(p) {
			w.enqueue(keyOf(p))
		}
	}
}

// backupChanged enqueues the Provisioning of a Backup, and those that request its restore, if they still
// need something: a restore may wait for the Backup, or the status may name the newest one.
func (w waker) backupChanged(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	b, ok := o.(*v1alpha1.Backup)
	if !ok {
		return
	}
	all, err := w.lister.Provisionings(b.Namespace).List(labels.Everything())
	if err != nil {
		return
	}
	for _, p := range all {
		named, _ := plan.RestoreFrom(p.Annotations[contract.AnnotationRestore])
		if (p.Name == b.Spec.Provisioning || named == b.Name) && (!p.Status.NeedsNothing() || p.Status.GetCondition(v1alpha1.ConditionHostsHealthy).IsFalse()) {
			w.enqueue(key{Namespace: p.Namespace, Name: p.Name})
		}
	}
}

// secretChanged enqueues the Provisionings that use this Secret as SSH key, or whose restore waits for it
// as the key of their backups, and still need something, also for their Softwares. It always enqueues those that take
// variables of kubespray from the Secret: a new value is a change of the cluster.
func (w waker) secretChanged(namespace, name string) {
	all, err := w.lister.Provisionings(namespace).List(labels.Everything())
	if err != nil {
		return
	}
	for _, p := range all {
		uses := p.Spec.SSH.Secret() == name || p.Annotations[contract.AnnotationRestore] != "" && contract.BackupKeyName(p.Name) == name
		waits := p.Status.Software != nil && (p.Status.Software.Waiting != "" || p.Status.Software.Failure != nil)
		hasVars := slices.ContainsFunc(p.Spec.Kubespray.VarsFrom, func(s v1alpha1.VarsSource) bool { return s.SecretRef.Name == name })
		if hasVars || uses && (waits || !p.Status.NeedsNothing()) {
			w.enqueue(key{Namespace: namespace, Name: p.Name})
		}
	}
}
