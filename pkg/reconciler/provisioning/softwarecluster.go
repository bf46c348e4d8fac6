package provisioning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Reasons why a Software has no cluster although it selects one.
const (
	SoftwareAmbiguous      = "Ambiguous"
	SoftwareClusterChanged = "ClusterChanged"
)

// Doubt is why it is not certain which cluster a Software is for. Nothing is installed or removed for it then.
type Doubt struct{ Reason, Message string }

// ClusterOf returns the Provisioning of a Software; nil: there is none, or it is in doubt.
func ClusterOf(s *v1alpha1.Software, all []*v1alpha1.Provisioning) *v1alpha1.Provisioning {
	if selected := selectedBy(s, all); len(selected) == 1 && DoubtAbout(s, all) == nil {
		return selected[0]
	}
	return nil
}

// DoubtAbout returns why the cluster of a Software is in doubt; nil: it is not. A label can be edited, and a new
// Provisioning can have the same one. Neither may move packages from one cluster to another silently.
func DoubtAbout(s *v1alpha1.Software, all []*v1alpha1.Provisioning) *Doubt {
	selected, former := selectedBy(s, all), FormerCluster(s, all)
	if len(selected) > 1 {
		var names []string
		for _, p := range selected {
			names = append(names, p.Name)
		}
		return &Doubt{SoftwareAmbiguous, fmt.Sprintf("Provisionings %s have the label %s=%s, so nothing is installed or removed for this Software: write the name of one of them as spec.cluster",
			strings.Join(names, " and "), v1alpha1.LabelCluster, s.ClusterName())}
	}
	if len(selected) == 0 || former == nil || former.Name == selected[0].Name || s.Spec.Cluster == selected[0].Name {
		return nil
	}
	return &Doubt{SoftwareClusterChanged, fmt.Sprintf("the packages were for the cluster of Provisioning %s, and the Software selects Provisioning %s now, so nothing is installed or removed for it: "+
		"write spec.cluster: %s to confirm, and the packages are removed from %s. Or write spec.cluster: %s to stay there",
		former.Name, selected[0].Name, selected[0].Name, former.Name, former.Name)}
}

// FormerCluster returns the Provisioning whose cluster the packages were for at last; nil: there is none, or it
// is being deleted.
func FormerCluster(s *v1alpha1.Software, all []*v1alpha1.Provisioning) *v1alpha1.Provisioning {
	for _, p := range all {
		if s.Status.Cluster != "" && p.Namespace == s.Namespace && p.Name == s.Status.Cluster && p.DeletionTimestamp == nil {
			return p
		}
	}
	return nil
}

// selectedBy returns the Provisionings that a Software selects, sorted by name. The name of a Provisioning
// counts more than its label.
func selectedBy(s *v1alpha1.Software, all []*v1alpha1.Provisioning) (selected []*v1alpha1.Provisioning) {
	cluster := s.ClusterName()
	for _, p := range all {
		switch {
		case cluster == "" || p.Namespace != s.Namespace:
		case p.Name == cluster:
			return []*v1alpha1.Provisioning{p}
		case p.Labels[v1alpha1.LabelCluster] == cluster:
			selected = append(selected, p)
		}
	}
	slices.SortFunc(selected, func(a, b *v1alpha1.Provisioning) int { return strings.Compare(a.Name, b.Name) })
	return selected
}

// clustersOf returns all Provisionings that a change of the Software concerns.
func clustersOf(s *v1alpha1.Software, all []*v1alpha1.Provisioning) []*v1alpha1.Provisioning {
	clusters := selectedBy(s, all)
	if former := FormerCluster(s, all); former != nil && !slices.Contains(clusters, former) {
		clusters = append(clusters, former)
	}
	return clusters
}

// keptPackages returns an entry without a node for each package that BPA has installed in the cluster, if a
// Software that could be for it is not: nothing is removed until its cluster is certain.
func keptPackages(p *v1alpha1.Provisioning, provisionings []*v1alpha1.Provisioning, all []*v1alpha1.Software, record contract.SoftwareRecord) (kept []contract.Software) {
	isThis := func(o *v1alpha1.Provisioning) bool { return o.Name == p.Name }
	i := slices.IndexFunc(all, func(s *v1alpha1.Software) bool {
		return s.DeletionTimestamp == nil && ClusterOf(s, provisionings) == nil && slices.ContainsFunc(clustersOf(s, provisionings), isThis)
	})
	if i < 0 {
		return nil
	}
	var names []string
	for _, n := range record.Nodes {
		for _, row := range n.Packages {
			if row.Ours {
				names = append(names, row.Name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		kept = append(kept, contract.Software{Name: name, Problem: "it is not certain which cluster a Software is for, so the package is not removed: see its condition Accepted"})
	}
	return kept
}
