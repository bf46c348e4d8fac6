package plan

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Claiming reports whether the task select-hosts works or is about to: it needs its right to the hosts.
func (s Seen) Claiming() bool {
	r := s.Newest()
	if r == nil || r.State != Active {
		return false
	}
	t := r.task(contract.TaskSelectHosts)
	return t == nil || t.State == Active
}

// ImageForHosts is the image that hosts without an operating system get now; nil: none. It is the one in the request of a run that works and claims, or
// has claimed, its hosts: the spec and the site's settings can have changed since. An uploaded image comes with the digest that the run has seen.
func (s Seen) ImageForHosts() (*contract.OSImage, error) {
	r := s.Newest()
	if s.Started.OSImage == nil || s.Deleting || r == nil || r.State != Active || r.Cancelling {
		return nil, nil
	}
	if t := r.task(contract.TaskSelectHosts); t == nil || t.State == Failed {
		return nil, nil
	}
	if s.Started.OSImage.URL == "" {
		return nil, fmt.Errorf("key %s of ConfigMap %s has an osImage without an address, which no host is given: correct spec.osImage, "+
			"or depot-url in the site's settings", contract.KeyRequest, contract.RequestName(s.Name))
	}
	sum := contract.None
	if t := r.task(contract.TaskSeedRegistry); t != nil { // a site's own pipeline may have none
		sum = t.Results[contract.ResultOSImage]
	}
	image, err := s.Started.OSImage.WithDigest(sum)
	if err != nil {
		return nil, fmt.Errorf("result %s of task %s in run %s: %w", contract.ResultOSImage, contract.TaskSeedRegistry, r.Name, err)
	}
	return &image, nil
}
