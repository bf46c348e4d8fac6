package plan

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Claiming reports whether the task select-hosts is running or about to run. Only then does it need
// its permissions for hosts.
func (s Seen) Claiming() bool {
	r := s.Newest()
	if r == nil || r.State != Active || !contract.OperationOf(r.Operation).Has(contract.TaskSelectHosts) {
		return false
	}
	t := r.task(contract.TaskSelectHosts)
	return t == nil || t.State == Active
}

// PowersOn reports whether the controller may switch on claimed hosts: a run is preparing them or
// installs the cluster on them. At other times, a user may have switched off a host on purpose.
func (s Seen) PowersOn() bool {
	r := s.Newest()
	return r != nil && r.State == Active && !r.Cancelling && !s.Deleting &&
		contract.OperationOf(r.Operation).Has(contract.TaskSelectHosts)
}

// ImageForHosts returns the image that claimed hosts without an operating system must receive now;
// nil: none. The image comes from the request of the active run, because the spec and the site's
// settings can have changed since the run started. The digest of an uploaded image comes from the
// result of seed-registry in this run.
func (s Seen) ImageForHosts() (*contract.OSImage, error) {
	r := s.Newest()
	if s.Started.OSImage == nil || s.Deleting || r == nil || r.State != Active || r.Cancelling {
		return nil, nil
	}
	if t := r.task(contract.TaskSelectHosts); t == nil || t.State == Failed {
		return nil, nil
	}
	if s.Started.OSImage.URL == "" {
		return nil, fmt.Errorf("the osImage in key %s of ConfigMap %s has no address: correct spec.osImage, "+
			"or depot-url in the site's settings", contract.KeyRequest, r.Request.Name)
	}
	sum := contract.None
	if t := r.task(contract.TaskSeedRegistry); t != nil { // a customized pipeline may not have this task
		sum = t.Results[contract.ResultOSImage]
	}
	image, err := s.Started.OSImage.WithDigest(sum)
	if err != nil {
		return nil, fmt.Errorf("result %s of task %s in run %s: %w", contract.ResultOSImage, contract.TaskSeedRegistry, r.Name, err)
	}
	return &image, nil
}
