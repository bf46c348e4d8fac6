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

// snapshot has the hosts of a namespace as they were read.
type snapshot struct {
	facts   []hosts.Host
	objects map[string]*metal3.BareMetalHost
}

// age tells how old the data of a read may be.
type age int

const (
	recent age = iota // from the API server's cache: cheap, and almost always current
	exact             // the current data
)

// read lists the hosts and their hardware. The hardware is read only once for all attempts, because
// claims do not change it. It is read again if exact data are requested and the stored data are not
// exact.
func (c *claimant) read(ctx context.Context, oldest age) (snapshot, error) {
	options := []client.ListOption{client.InNamespace(c.request.HostNamespace())}
	if oldest != exact {
		options = append(options, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	}
	if c.hardware == nil || oldest == exact && !c.hardwareExact {
		c.hardwareExact = oldest == exact
		if err := c.readHardware(ctx, options); err != nil {
			return snapshot{}, err
		}
	}
	var list metal3.BareMetalHostList
	if err := c.client.List(ctx, &list, options...); err != nil {
		return snapshot{}, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", c.request.HostNamespace(), err)
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

// update returns a copy of a snapshot with newer data for the hosts that this attempt has read or
// written one by one. Hosts that no longer exist are removed.
func (c *claimant) update(old snapshot) snapshot {
	w := snapshot{objects: maps.Clone(old.objects)}
	for _, h := range old.facts {
		host, known := c.known[h.Name]
		switch {
		case !known:
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

// readHardware reads the HardwareData. An older Metal3 does not have this kind; then the hardware
// comes from the status of the hosts.
func (c *claimant) readHardware(ctx context.Context, options []client.ListOption) error {
	var list metal3.HardwareDataList
	if err := c.client.List(ctx, &list, options...); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("list the HardwareData of namespace %s: %w", c.request.HostNamespace(), err)
	}
	c.hardware = map[string]*metal3.HardwareData{}
	for i := range list.Items {
		c.hardware[list.Items[i].Name] = &list.Items[i]
	}
	return nil
}
