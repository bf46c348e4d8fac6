package access

import (
	"context"
	"crypto/rand"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	secretinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/secret/filtered"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/access/cluster"
	provisioninginformer "github.com/akraino-icn/bpa/pkg/client/injection/informers/bpa/v1alpha1/provisioning"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/events"
)

// clusters is the number of clusters that are worked on at the same time. Most of the time is spent
// waiting for them.
const clusters = 8

// NewController creates the reconciler with its clients and informers. The constructor of package
// provisioning limits what the informers read: call it too.
func NewController(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	logger := logging.FromContext(ctx)
	provisionings := provisioninginformer.Get(ctx)
	secrets := secretinformer.Get(ctx, contract.LabelCluster)
	r := New(kubeclient.Get(ctx), provisionings.Lister(), secrets.Lister(), cluster.Connect, events.NewRecorder(ctx, "access-controller"), clock.RealClock{}, rand.Reader)
	r.PromoteFunc = func(bucket reconciler.Bucket, enqueue func(reconciler.Bucket, types.NamespacedName)) error {
		all, err := r.provisionings.List(labels.Everything())
		for _, p := range all {
			enqueue(bucket, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
		}
		return err
	}
	impl := controller.NewContext(ctx, r, controller.ControllerOptions{
		WorkQueueName: "github.com.akraino-icn.bpa.pkg.reconciler.access.Reconciler", Logger: logger, Concurrency: clusters,
	})
	handle := func(informer cache.SharedIndexInformer, enqueue func(any)) {
		if _, err := informer.AddEventHandler(controller.HandleAll(enqueue)); err != nil {
			logger.Fatalw("Cannot add an event handler", "error", err)
		}
	}
	handle(provisionings.Informer(), impl.Enqueue)
	handle(secrets.Informer(), impl.EnqueueLabelOfNamespaceScopedResource("", contract.LabelCluster))
	return impl
}
