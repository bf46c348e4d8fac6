package software

import (
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// SoftwaresOf returns the Softwares of a Provisioning, sorted by name, without those that are being deleted.
func Of(p *v1alpha1.Provisioning, provisionings []*v1alpha1.Provisioning, all []*v1alpha1.Software) (of []*v1alpha1.Software) {
	for _, s := range all {
		if cluster := ClusterOf(s, provisionings); s.DeletionTimestamp == nil && cluster != nil && cluster.Name == p.Name {
			of = append(of, s)
		}
	}
	slices.SortFunc(of, func(a, b *v1alpha1.Software) int { return strings.Compare(a.Name, b.Name) })
	return of
}

// WantedSoftware returns the packages that the Softwares of a cluster request, and their conflicts. If
// installed has no nodes, those that the request describes count. list are the packages of the site's
// depot; nil: they are not known. A cluster that does not use this depot finds its packages elsewhere,
// except those whose version in the record is from this depot: they stay.
func Wanted(p *v1alpha1.Provisioning, request contract.Request, installed contract.Installed, record contract.SoftwareRecord,
	all []*v1alpha1.Software, list *protocol.PackageList) ([]contract.Software, []Conflict) {
	nodes := installed.Nodes
	if len(nodes) == 0 {
		nodes = requestedNodes(request)
	}
	wanted, conflicts := Merge(all, nodes)
	if request.DepotOfSite {
		return Resolve(wanted, packageOwner(p, request), list), conflicts
	}
	wanted = Resolve(wanted, packageOwner(p, request), &protocol.PackageList{})
	return Keep(wanted, record, installed.Request.DepotOfSite), conflicts
}

// requestedNodes returns a node for each slot and for each set, with its roles.
func requestedNodes(request contract.Request) (nodes []contract.Node) {
	for _, slot := range request.Slots {
		nodes = append(nodes, contract.Node{Name: slot.Name, Roles: slot.Roles})
	}
	for _, set := range request.Sets {
		nodes = append(nodes, contract.Node{Name: set.Name, Roles: set.Roles})
	}
	return nodes
}

// labelOwner, on a Provisioning, is ICN's label with the owner of its uploads in the depot.
const labelOwner = "owner"

// packageOwner returns whose uploads the cluster may use.
func packageOwner(p *v1alpha1.Provisioning, request contract.Request) Owner {
	owner := Owner{Name: p.Labels[labelOwner], Clusters: []string{p.Name}, System: request.OperatingSystem}
	if owner.Name == "" {
		owner.Name = p.Namespace
	}
	if label := p.Labels[v1alpha1.LabelCluster]; label != "" && label != p.Name {
		owner.Clusters = append(owner.Clusters, label)
	}
	owner.Clusters = append(owner.Clusters, protocol.ClusterAll)
	return owner
}
