package provisioning

import (
	"context"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/software"
)

// observeSoftware reads what the Softwares of the cluster request.
func (r *Reconciler) observeSoftware(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	if seen.Deleting {
		return nil
	}
	s := &seen.Software
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
	s.Wanted, _ = software.Wanted(p, seen.Request, installed, s.Record, software.Of(p, others, all), list)
	s.Wanted = append(s.Wanted, software.Kept(p, others, all, s.Record)...)
	return r.observeSoftwareKey(ctx, p, seen)
}

// observeSoftwareKey is like observeKeyChange, for the newest run for Softwares.
func (r *Reconciler) observeSoftwareKey(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	only := plan.Seen{Runs: seen.Software.Runs}
	err := r.observeKeyChange(ctx, p, &only)
	seen.Software.KeyChanged = only.KeyChanged
	return err
}
