package software

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Reasons why a Software has no cluster although it selects one.
const (
	ReasonAmbiguous      = "Ambiguous"
	ReasonClusterChanged = "ClusterChanged"
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
// Provisioning can have the same one, or have it as its name. None of this may move packages from one cluster to
// another silently.
func DoubtAbout(s *v1alpha1.Software, all []*v1alpha1.Provisioning) *Doubt {
	selected, former := selectedBy(s, all), FormerCluster(s, all)
	if len(selected) > 1 {
		return &Doubt{ReasonAmbiguous, fmt.Sprintf("Provisionings %s have the label %s=%s, so nothing is installed or removed for this Software: write the name of one of them as spec.cluster",
			names(selected), v1alpha1.LabelCluster, s.ClusterName())}
	}
	if len(selected) == 0 || former == nil || former.Name == selected[0].Name || s.Spec.Cluster == selected[0].Name {
		return nil
	}
	return &Doubt{ReasonClusterChanged, fmt.Sprintf("the packages were for the cluster of Provisioning %s, and the Software selects Provisioning %s now, so nothing is installed or removed for it: "+
		"write spec.cluster: %s to confirm, and the packages are removed from %s. Or write spec.cluster: %s to stay there",
		former.Name, selected[0].Name, selected[0].Name, former.Name, former.Name)}
}

// Passed returns the names of the Provisionings that the Software also fits, but that its packages are not for;
// empty: there are none.
func Passed(s *v1alpha1.Software, all []*v1alpha1.Provisioning) string {
	cluster := ClusterOf(s, all)
	if cluster == nil {
		return ""
	}
	labelled, named := candidates(s, all)
	others := slices.DeleteFunc(slices.Concat(labelled, named), func(p *v1alpha1.Provisioning) bool { return p == cluster })
	return names(others)
}

// names returns the names of Provisionings, for a message.
func names(all []*v1alpha1.Provisioning) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, p.Name)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), " and ")
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

// selectedBy returns the Provisionings that a Software selects, sorted by name. The first of these rules that fits
// one counts:
//  1. the Provisioning that its packages were for at last, if the Software still fits it
//  2. the Provisioning with the name in spec.cluster
//  3. those with the label: more than one is a doubt
//  4. the Provisioning whose name is the Software's own label
func selectedBy(s *v1alpha1.Software, all []*v1alpha1.Provisioning) []*v1alpha1.Provisioning {
	labelled, named := candidates(s, all)
	if former := FormerCluster(s, all); former != nil && slices.Contains(slices.Concat(labelled, named), former) {
		return []*v1alpha1.Provisioning{former}
	}
	if len(labelled) == 0 || s.Spec.Cluster != "" && len(named) > 0 {
		return named
	}
	return labelled
}

// candidates returns the Provisionings that have the name of the Software's cluster as their label, and the one
// that has it as its name.
func candidates(s *v1alpha1.Software, all []*v1alpha1.Provisioning) (labelled, named []*v1alpha1.Provisioning) {
	cluster := s.ClusterName()
	for _, p := range all {
		if cluster == "" || p.Namespace != s.Namespace {
			continue
		}
		if p.Labels[v1alpha1.LabelCluster] == cluster {
			labelled = append(labelled, p)
		}
		if p.Name == cluster {
			named = append(named, p)
		}
	}
	slices.SortFunc(labelled, func(a, b *v1alpha1.Provisioning) int { return strings.Compare(a.Name, b.Name) })
	return labelled, named
}

// clustersOf returns all Provisionings that a change of the Software concerns.
func ClustersOf(s *v1alpha1.Software, all []*v1alpha1.Provisioning) []*v1alpha1.Provisioning {
	clusters := slices.Clone(selectedBy(s, all))
	if former := FormerCluster(s, all); former != nil && !slices.Contains(clusters, former) {
		clusters = append(clusters, former)
	}
	return clusters
}

// keptPackages returns an entry without a node for each package that BPA has installed in the cluster, if a
// Software that could be for it is not: nothing is removed until its cluster is certain.
func Kept(p *v1alpha1.Provisioning, provisionings []*v1alpha1.Provisioning, all []*v1alpha1.Software, record contract.SoftwareRecord) (kept []contract.Software) {
	isThis := func(o *v1alpha1.Provisioning) bool { return o.Name == p.Name }
	i := slices.IndexFunc(all, func(s *v1alpha1.Software) bool {
		return s.DeletionTimestamp == nil && ClusterOf(s, provisionings) == nil && slices.ContainsFunc(ClustersOf(s, provisionings), isThis)
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
