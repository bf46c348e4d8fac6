package provisioning

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/software"
)

// observeSoftware reads what the Softwares of the cluster request, and what the tasks have stored. It needs
// the record of the cluster, which observeSite completes.
func (r *Reconciler) observeSoftware(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	if seen.Deleting {
		return nil
	}
	s := &seen.Software
	s.Asked = p.Annotations[contract.AnnotationSoftware]
	if p.Status.Software != nil {
		s.Answered = p.Status.Software.Asked
	}
	stored, err := r.configMap(p, contract.SoftwareName(p.Name))
	if err != nil {
		return err
	}
	if stored != nil {
		s.Record = r.readSoftware(p, stored)
		s.Ends = stored.Data[contract.KeyEnds]
	}
	started, err := r.requestOf(ctx, p, s.Newest())
	if err != nil {
		return err
	}
	if started != nil {
		s.Started = r.readRequest(p, started).Software
	}
	all, others := r.clusters.Around(p)
	var installed contract.Installed
	if seen.Memory != nil && seen.Complete() {
		installed = *seen.Memory
	}
	packages := r.packages
	if !seen.Complete() {
		packages = r.newPackages
	}
	list, _ := packages()
	s.Wanted, _ = WantedSoftware(p, seen.Request, installed, s.Record, SoftwaresOf(p, others, all), list)
	s.Wanted = append(s.Wanted, keptPackages(p, others, all, s.Record)...)
	return r.observeSoftwareKey(ctx, p, seen)
}

// observeSoftwareKey is like observeKeyChange, for the newest run for Softwares.
func (r *Reconciler) observeSoftwareKey(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	only := plan.Seen{Runs: seen.Software.Runs}
	err := r.observeKeyChange(ctx, p, &only)
	seen.Software.KeyChanged = only.KeyChanged
	return err
}

// observeBeside finds out whether another run waits for the end of the active run for Softwares, and could start then.
func (r *Reconciler) observeBeside(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen, now time.Time) error {
	without, ok := plan.Beside(*seen)
	if !ok {
		return nil
	}
	step, starts := plan.Upcoming(without, now)
	if !starts || !step.Waits() {
		return nil
	}
	if err := r.observeNeeds(ctx, p, step, &without, now); err != nil {
		return err
	}
	if next := plan.Next(without, now); next.Waits() {
		seen.Beside = &next
	}
	return nil
}

// endSoftware asks a run for Softwares to end after its batch.
func (r *Reconciler) endSoftware(ctx context.Context, p *v1alpha1.Provisioning, run string) error {
	record, err := r.configMapLive(ctx, p, contract.SoftwareName(p.Name))
	if err != nil || record == nil {
		return err
	}
	if record.Data == nil {
		record.Data = map[string]string{}
	}
	record.Data[contract.KeyEnds] = run
	_, err = r.kube.CoreV1().ConfigMaps(p.Namespace).Update(ctx, record, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // the task has written
		return &notYet{"ConfigMap " + record.Name + " has changed", behind}
	}
	if err != nil {
		return fmt.Errorf("update ConfigMap %s: %w", record.Name, err)
	}
	return nil
}

// SoftwaresOf returns the Softwares of a Provisioning, sorted by name, without those that are being deleted.
func SoftwaresOf(p *v1alpha1.Provisioning, provisionings []*v1alpha1.Provisioning, all []*v1alpha1.Software) (of []*v1alpha1.Software) {
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
func WantedSoftware(p *v1alpha1.Provisioning, request contract.Request, installed contract.Installed, record contract.SoftwareRecord,
	all []*v1alpha1.Software, list *protocol.PackageList) ([]contract.Software, []software.Conflict) {
	nodes := installed.Nodes
	if len(nodes) == 0 {
		nodes = requestedNodes(request)
	}
	wanted, conflicts := software.Merge(all, nodes)
	if request.DepotOfSite {
		return software.Resolve(wanted, packageOwner(p, request), list), conflicts
	}
	wanted = software.Resolve(wanted, packageOwner(p, request), &protocol.PackageList{})
	return software.Keep(wanted, record, installed.Request.DepotOfSite), conflicts
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
func packageOwner(p *v1alpha1.Provisioning, request contract.Request) software.Owner {
	owner := software.Owner{Name: p.Labels[labelOwner], Clusters: []string{p.Name}, System: request.OperatingSystem}
	if owner.Name == "" {
		owner.Name = p.Namespace
	}
	if label := p.Labels[v1alpha1.LabelCluster]; label != "" && label != p.Name {
		owner.Clusters = append(owner.Clusters, label)
	}
	owner.Clusters = append(owner.Clusters, protocol.ClusterAll)
	return owner
}
