package claim

import (
	"context"
	"fmt"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// world is what was read of the hosts of a namespace.
type world struct {
	facts   []hosts.Host
	objects map[string]*metal3.BareMetalHost
}

// read lists the hosts with their hardware, exactly as they are now or as a cache has them: ours, or else that of the API server, which is cheap.
// The hardware is read once for all attempts, since it does not change by claims.
func (c *claimant) read(ctx context.Context, exact bool) (world, error) {
	from, options := client.Reader(c.client), []client.ListOption{client.InNamespace(c.request.Namespace)}
	switch {
	case !exact && c.cache != nil:
		from = c.cache
	case !exact:
		options = append(options, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	}
	if c.hardware == nil {
		if err := c.readHardware(ctx, from, options); err != nil {
			return world{}, err
		}
	}
	var list metal3.BareMetalHostList
	if err := from.List(ctx, &list, options...); err != nil {
		return world{}, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", c.request.Namespace, err)
	}
	w := world{objects: map[string]*metal3.BareMetalHost{}}
	for i := range list.Items {
		host := &list.Items[i]
		w.objects[host.Name] = host
		w.facts = append(w.facts, facts.Of(host, c.hardware[host.Name]))
	}
	hosts.MarkInstalled(c.request, w.facts)
	return w, nil
}

// readHardware does without where an older Metal3 has no HardwareData: then the hosts' status tells it.
func (c *claimant) readHardware(ctx context.Context, from client.Reader, options []client.ListOption) error {
	var list metal3.HardwareDataList
	if err := from.List(ctx, &list, options...); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("list the HardwareData of namespace %s: %w", c.request.Namespace, err)
	}
	c.hardware = map[string]*metal3.HardwareData{}
	for i := range list.Items {
		c.hardware[list.Items[i].Name] = &list.Items[i]
	}
	return nil
}
