package claim

import (
	"context"
	"fmt"
	"maps"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// snapshot is what was read of the hosts of a namespace.
type snapshot struct {
	facts   []hosts.Host
	objects map[string]*metal3.BareMetalHost
}

// age is how old a world may be.
type age int

const (
	recent age = iota // as the API server's own cache has it: that is cheap, and hardly ever old
	exact             // as it is now
)

// read lists the hosts with their hardware. The hardware is read once for all attempts, since it does not change by claims.
func (c *claimant) read(ctx context.Context, oldest age) (snapshot, error) {
	options := []client.ListOption{client.InNamespace(c.request.Namespace)}
	if oldest != exact {
		options = append(options, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	}
	if c.hardware == nil || oldest == exact && !c.surely {
		c.surely = oldest == exact
		if err := c.readHardware(ctx, options); err != nil {
			return snapshot{}, err
		}
	}
	var list metal3.BareMetalHostList
	if err := c.client.List(ctx, &list, options...); err != nil {
		return snapshot{}, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", c.request.Namespace, err)
	}
	w := snapshot{objects: map[string]*metal3.BareMetalHost{}}
	for i := range list.Items {
		host := &list.Items[i]
		w.objects[host.Name] = host
		w.facts = append(w.facts, facts.Of(host, c.hardware[host.Name]))
	}
	hosts.MarkInstalled(c.request, w.facts)
	return w, nil
}

// update makes a world of one that was read and what the API server has said of single hosts since.
func (c *claimant) update(old snapshot) snapshot {
	w := snapshot{objects: maps.Clone(old.objects)}
	for _, h := range old.facts {
		host, told := c.known[h.Name]
		switch {
		case !told:
			w.facts = append(w.facts, h)
		case host == nil:
			delete(w.objects, h.Name)
		default:
			w.objects[h.Name] = host
			w.facts = append(w.facts, facts.Of(host, c.hardware[h.Name]))
		}
	}
	hosts.MarkInstalled(c.request, w.facts)
	return w
}

// readHardware does without where an older Metal3 has no HardwareData: then the hosts' status tells it.
func (c *claimant) readHardware(ctx context.Context, options []client.ListOption) error {
	var list metal3.HardwareDataList
	if err := c.client.List(ctx, &list, options...); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("list the HardwareData of namespace %s: %w", c.request.Namespace, err)
	}
	c.hardware = map[string]*metal3.HardwareData{}
	for i := range list.Items {
		c.hardware[list.Items[i].Name] = &list.Items[i]
	}
	return nil
}
