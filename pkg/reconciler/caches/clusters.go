package caches

import (
	"slices"

	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// byCluster is the index of Softwares and of Provisionings by the names of clusters, as NAMESPACE/NAME.
const byCluster = "bpa-cluster"

// Clusters finds in the caches the Softwares and the Provisionings that can concern each other, without a search
// through all others of their namespace.
type Clusters struct{ provisionings, softwares cache.Indexer }

// IndexClusters adds the index that Clusters needs to a cache of Softwares or of Provisionings.
func IndexClusters(in interface{ AddIndexers(cache.Indexers) error }) error {
	return in.AddIndexers(cache.Indexers{byCluster: clustersNamed})
}

// NewClusters returns a Clusters of two caches with the indexes of IndexClusters.
func NewClusters(provisionings, softwares cache.Indexer) Clusters {
	return Clusters{provisionings, softwares}
}

// clustersNamed returns the clusters that a Software names or was for at last, and the names by which a Software
// can select a Provisioning.
func clustersNamed(o any) (keys []string, _ error) {
	add := func(namespace string, names ...string) {
		for _, name := range names {
			if k := namespace + "/" + name; name != "" && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	switch o := o.(type) {
	case *v1alpha1.Software:
		add(o.Namespace, o.ClusterName(), o.Status.Cluster)
	case *v1alpha1.Provisioning:
		add(o.Namespace, o.Name, o.Labels[v1alpha1.LabelCluster])
	}
	return keys, nil
}

// Selectable returns the Provisionings that the Software can select, and the one that its packages were for at last.
func (c Clusters) Selectable(s *v1alpha1.Software) []*v1alpha1.Provisioning {
	return find[*v1alpha1.Provisioning](c.provisionings, s.Namespace, s.ClusterName(), s.Status.Cluster)
}

// Naming returns the Softwares that name one of these clusters, or whose packages were for one of them at last.
func (c Clusters) Naming(namespace string, clusters ...string) []*v1alpha1.Software {
	return find[*v1alpha1.Software](c.softwares, namespace, clusters...)
}

// Around returns the Softwares that can be for the Provisioning, and all Provisionings that these can select.
func (c Clusters) Around(p *v1alpha1.Provisioning) (softwares []*v1alpha1.Software, provisionings []*v1alpha1.Provisioning) {
	softwares = c.Naming(p.Namespace, p.Name, p.Labels[v1alpha1.LabelCluster])
	for _, s := range softwares {
		for _, selectable := range c.Selectable(s) {
			if !slices.Contains(provisionings, selectable) {
				provisionings = append(provisionings, selectable)
			}
		}
	}
	return softwares, provisionings
}

// find returns the objects of the index with one of these names, each once.
func find[T interface {
	comparable
	GetName() string
}](in cache.Indexer, namespace string, names ...string) (all []T) {
	for _, name := range names {
		if name == "" {
			continue
		}
		found, _ := in.ByIndex(byCluster, namespace+"/"+name) // fails only if the index is missing
		for _, o := range found {
			if o, ok := o.(T); ok && !slices.ContainsFunc(all, func(other T) bool { return other.GetName() == o.GetName() }) {
				all = append(all, o)
			}
		}
	}
	return all
}
