package software

import (
	"context"

	"k8s.io/client-go/tools/cache"
	configmapinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/configmap/filtered"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"

	provisioninginformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/provisioning"
	softwareinformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/software"
	softwarereconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/software"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/packages"
)

// NewController creates the reconciler of Softwares. Package provisioning sets the selectors and the
// indexes of the informers, and starts the watcher of the depot's packages.
func NewController(ctx context.Context, cmw configmap.Watcher) *controller.Impl {
	softwares, provisionings := softwareinformer.Get(ctx), provisioninginformer.Get(ctx)
	configMaps := configmapinformer.Get(ctx, contract.LabelCluster)
	depot := packages.Get(ctx)
	clusters := caches.NewClusters(provisionings.Informer().GetIndexer(), softwares.Informer().GetIndexer())
	r := &Reconciler{clusters: clusters, configMaps: configMaps.Lister(), packages: depot.Get}
	impl := softwarereconciler.NewImpl(ctx, r)
	all := func() { impl.GlobalResync(softwares.Informer()) }
	r.settings = caches.WatchSettings(ctx, cmw, all)
	wake := waker{clusters: clusters, softwares: softwares.Lister(), provisionings: provisionings.Lister(), enqueue: impl.EnqueueKey}
	handle(ctx, softwares.Informer(), wake.softwareEvents(impl.Enqueue))
	handle(ctx, provisionings.Informer(), wake.provisioningEvents())
	handle(ctx, configMaps.Informer(), controller.HandleAll(wake.configMapChanged))
	depot.OnChange(wake.everything)
	return impl
}

func handle(ctx context.Context, informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) {
	if _, err := informer.AddEventHandler(handler); err != nil {
		logging.FromContext(ctx).Fatalw("Cannot add an event handler", "error", err)
	}
}
