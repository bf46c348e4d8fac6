package software

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
)

// TestWaker: a change wakes the Softwares that it can affect, and no others.
func TestWaker(t *testing.T) {
	software := func(name, cluster string) *v1alpha1.Software {
		return &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, Generation: 1}, Spec: v1alpha1.SoftwareSpec{Cluster: cluster}}
	}
	edge := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "edge-1", Labels: map[string]string{v1alpha1.LabelCluster: "edge"}}}
	byName, byLabel, foreign, homeless := software("by-name", "edge-1"), software("by-label", "edge"), software("foreign", "edge-2"), software("homeless", "")
	elsewhere := software("elsewhere", "edge-1")
	elsewhere.Namespace = "other"
	of := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, Labels: map[string]string{contract.LabelCluster: "edge-1"}}}
	}
	edited, statusOnly := byName.DeepCopy(), byName.DeepCopy()
	edited.Generation, edited.Spec.Cluster = 2, "edge-2"
	statusOnly.Status.Summary = "1/1"
	relabelled := edge.DeepCopy()
	relabelled.Labels = map[string]string{v1alpha1.LabelCluster: "line"}
	both := []string{"site/by-label", "site/by-name"}
	for name, test := range map[string]struct {
		change func(waker, cache.ResourceEventHandler)
		want   []string
	}{
		"a Provisioning": {func(w waker, _ cache.ResourceEventHandler) { w.provisioningChanged(edge) }, both},
		"a deleted Provisioning": {func(w waker, _ cache.ResourceEventHandler) {
			w.provisioningChanged(cache.DeletedFinalStateUnknown{Obj: edge})
		}, both},
		"another label":                      {func(w waker, _ cache.ResourceEventHandler) { w.provisioningEvents().OnUpdate(edge, relabelled) }, both},
		"the record":                         {func(w waker, _ cache.ResourceEventHandler) { w.configMapChanged(of("edge-1-software")) }, both},
		"the nodes":                          {func(w waker, _ cache.ResourceEventHandler) { w.configMapChanged(of("edge-1-installed")) }, both},
		"the progress":                       {func(w waker, _ cache.ResourceEventHandler) { w.configMapChanged(of("edge-1-progress")) }, nil},
		"another Software of the cluster":    {func(_ waker, h cache.ResourceEventHandler) { h.OnAdd(byLabel, false) }, both},
		"a deleted Software of the cluster":  {func(_ waker, h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: byLabel}) }, both},
		"a Software that leaves the cluster": {func(_ waker, h cache.ResourceEventHandler) { h.OnUpdate(byName, edited) }, []string{"site/by-label", "site/by-name", "site/foreign"}},
		"the status of a Software":           {func(_ waker, h cache.ResourceEventHandler) { h.OnUpdate(byName, statusOnly) }, nil},
		"the depot's packages":               {func(w waker, _ cache.ResourceEventHandler) { w.everything() }, []string{"other/elsewhere", "site/by-label", "site/by-name", "site/foreign", "site/homeless"}},
	} {
		var got []string
		softwares, provisionings := indexer(t, byName, byLabel, foreign, homeless, elsewhere), indexer(t, edge)
		w := waker{
			clusters:      caches.NewClusters(provisionings, softwares),
			softwares:     listers.NewSoftwareLister(softwares),
			provisionings: listers.NewProvisioningLister(provisionings),
			enqueue:       func(k types.NamespacedName) { got = append(got, k.String()) },
		}
		test.change(w, w.softwareEvents(func(any) {}))
		slices.Sort(got)
		if diff := cmp.Diff(test.want, slices.Compact(got)); diff != "" {
			t.Errorf("%s wakes (-want +got):\n%s", name, diff)
		}
	}
}
