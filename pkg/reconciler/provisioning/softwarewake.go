package provisioning

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/configmap"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/packages"
	"github.com/akraino-icn/bpa/pkg/software"
)

// FollowDepot makes the watcher follow the depot in the site's settings, and starts it.
func FollowDepot(ctx context.Context, cmw configmap.Watcher, depot *packages.Watcher) {
	var site func() caches.Settings
	follow := func() {
		if site != nil && site().Invalid == "" {
			depot.Follow(site().Depot)
		}
	}
	site = caches.WatchSettings(ctx, cmw, follow)
	depot.Start(ctx)
}

// softwareWaker enqueues the Provisionings whose Softwares or their packages have changed.
type softwareWaker struct {
	clusters  caches.Clusters
	softwares listers.SoftwareLister
	enqueue   func(key)
}

// handler enqueues the cluster of a Software before and after a change.
func (w softwareWaker) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: w.changed,
		UpdateFunc: func(before, after any) {
			was, _ := before.(*v1alpha1.Software)
			is, _ := after.(*v1alpha1.Software)
			if was == nil || is == nil {
				return
			}
			if was.Generation == is.Generation && was.ClusterName() == is.ClusterName() && (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) &&
				was.Status.Cluster == is.Status.Cluster && acceptedReason(was) == acceptedReason(is) {
				return // nothing has changed that decides which packages the clusters get
			}
			w.changed(was)
			w.changed(is)
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			w.changed(o)
		},
	}
}

func (w softwareWaker) changed(o any) {
	s, ok := o.(*v1alpha1.Software)
	if !ok {
		return
	}
	for _, p := range software.ClustersOf(s, w.clusters.Selectable(s)) {
		w.enqueue(keyOf(p))
	}
}

// acceptedReason returns the reason of the condition Accepted. It changes when a doubt about the cluster ends.
func acceptedReason(s *v1alpha1.Software) string {
	if c := s.Status.GetCondition(v1alpha1.ConditionSoftwareAccepted); c != nil {
		return c.Reason
	}
	return ""
}

// packagesChanged enqueues all Provisionings that have Softwares.
func (w softwareWaker) packagesChanged() {
	all, err := w.softwares.List(labels.Everything())
	if err != nil {
		return
	}
	for _, s := range all {
		w.changed(s)
	}
}
