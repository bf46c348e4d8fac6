package software

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/kmeta"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
)

// waker enqueues the Softwares that a change of another object affects.
type waker struct {
	clusters      caches.Clusters
	softwares     listers.SoftwareLister
	provisionings listers.ProvisioningLister
	enqueue       func(types.NamespacedName)
}

// softwareEvents enqueues a Software, and the other ones of its clusters before and after an edit: their
// packages may be in conflict now, or not any more.
func (w waker) softwareEvents(enqueue func(any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { enqueue(o); w.softwareChanged(o) },
		UpdateFunc: func(before, after any) {
			enqueue(after)
			was, _ := before.(*v1alpha1.Software)
			is, _ := after.(*v1alpha1.Software)
			if was != nil && is != nil && (was.Generation != is.Generation || was.ClusterName() != is.ClusterName() || is.DeletionTimestamp != nil) {
				w.softwareChanged(was)
				w.softwareChanged(is)
			}
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			w.softwareChanged(o)
		},
	}
}

func (w waker) softwareChanged(o any) {
	if s, ok := o.(*v1alpha1.Software); ok && s.ClusterName() != "" {
		names := []string{s.ClusterName()}
		for _, p := range w.clusters.Selectable(s) {
			if p.Name == names[0] || p.Labels[v1alpha1.LabelCluster] == names[0] {
				names = append(names, p.Name, p.Labels[v1alpha1.LabelCluster])
			}
		}
		w.selecting(s.Namespace, names...)
	}
}

// provisioningEvents enqueues the Softwares of a Provisioning before and after an edit of its labels.
func (w waker) provisioningEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    w.provisioningChanged,
		DeleteFunc: w.provisioningChanged,
		UpdateFunc: func(before, after any) {
			was, _ := before.(*v1alpha1.Provisioning)
			is, _ := after.(*v1alpha1.Provisioning)
			if was != nil && is != nil && was.Labels[v1alpha1.LabelCluster] != is.Labels[v1alpha1.LabelCluster] {
				w.provisioningChanged(was)
			}
			w.provisioningChanged(after)
		},
	}
}

// provisioningChanged enqueues the Softwares that name the Provisioning, or another one of its cluster.
func (w waker) provisioningChanged(o any) {
	if p, err := kmeta.DeletionHandlingAccessor(o); err == nil {
		w.selecting(p.GetNamespace(), p.GetName(), p.GetLabels()[v1alpha1.LabelCluster])
	}
}

// configMapChanged enqueues the Softwares of a cluster whose nodes or record have changed.
func (w waker) configMapChanged(o any) {
	cm, err := kmeta.DeletionHandlingAccessor(o)
	if err != nil {
		return
	}
	cluster := cm.GetLabels()[contract.LabelCluster]
	if !slices.Contains([]string{contract.SoftwareName(cluster), contract.InstalledName(cluster)}, cm.GetName()) {
		return
	}
	names := []string{cluster}
	if p, err := w.provisionings.Provisionings(cm.GetNamespace()).Get(cluster); err == nil {
		names = append(names, p.Labels[v1alpha1.LabelCluster])
	}
	w.selecting(cm.GetNamespace(), names...)
}

// selecting enqueues the Softwares that name one of these clusters, or whose packages were for one of them at last.
func (w waker) selecting(namespace string, clusters ...string) {
	for _, s := range w.clusters.Naming(namespace, clusters...) {
		w.enqueue(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	}
}

// everything enqueues all Softwares.
func (w waker) everything() {
	all, err := w.softwares.List(labels.Everything())
	if err != nil {
		return
	}
	for _, s := range all {
		w.enqueue(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	}
}
