package provisioning

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// addressIndex returns the address of the API servers of a Provisioning with the namespace of its hosts: the same address in
// two networks is no conflict, and hosts of different namespaces can be in different networks.
func addressIndex(o any) ([]string, error) {
	p, ok := o.(*v1alpha1.Provisioning)
	if !ok || p.Spec.Kubernetes.API == nil || p.Spec.Kubernetes.API.Address == "" {
		return nil, nil
	}
	return []string{p.HostNamespace() + "/" + p.Spec.Kubernetes.API.Address}, nil
}

// addressTaken returns why the address that is to move between the control planes of p is in use, and the next action; empty:
// it is free, as far as it is known here. Nothing keeps an installed cluster from its repair: it has the address.
func (r *Reconciler) addressTaken(p *v1alpha1.Provisioning, all []hosts.Host) (string, error) {
	api := p.Spec.Kubernetes.API
	if api == nil || api.Address == "" || p.Status.InstalledDigest != "" {
		return "", nil
	}
	const advice = "the address %s of spec.kubernetes.api is that of %s: write one that nobody has. BPA looks again within a minute"
	key, _ := addressIndex(p)
	others, err := r.queue.provisionings.ByIndex(byAddress, key[0])
	if err != nil {
		return "", fmt.Errorf("find the Provisionings with the address %s: %w", api.Address, err)
	}
	for _, o := range others {
		if other := o.(*v1alpha1.Provisioning); sameAddress(p, other) {
			return fmt.Sprintf(advice, api.Address, clusterName(p, other)), nil
		}
	}
	if name := hostWith(p, all); api.Mode == v1alpha1.APIVIP && name != "" {
		return fmt.Sprintf(advice, api.Address, "host "+name), nil
	}
	return "", nil
}

// sameAddress reports whether p must not use the address that other has too. Two clusters can be behind one load balancer. The
// cluster that has begun keeps the address, and of two that have not, the older one.
func sameAddress(p, other *v1alpha1.Provisioning) bool {
	if p.UID == other.UID || p.Spec.Kubernetes.API.Mode != v1alpha1.APIVIP && other.Spec.Kubernetes.API.Mode != v1alpha1.APIVIP {
		return false
	}
	if begun(p) != begun(other) {
		return begun(other)
	}
	if a, b := p.CreationTimestamp, other.CreationTimestamp; !a.Equal(&b) {
		return b.Before(&a)
	}
	return other.UID < p.UID
}

func begun(p *v1alpha1.Provisioning) bool {
	return p.Status.InstalledDigest != "" || p.Status.Run != nil
}

// clusterName names another cluster for the user of p, who may not know those of other namespaces.
func clusterName(p, other *v1alpha1.Provisioning) string {
	if p.Namespace != other.Namespace {
		return "a cluster in another namespace"
	}
	return "Provisioning " + other.Name
}

// hostWith returns the name of a host that has the address of p's API servers; empty: none has. What a host of the cluster
// itself has does not count after the first run has begun: it may be this very address.
func hostWith(p *v1alpha1.Provisioning, all []hosts.Host) string {
	ip, err := netip.ParseAddr(p.Spec.Kubernetes.API.Address)
	if err != nil {
		return ""
	}
	for _, h := range all {
		if ours := h.Holder != nil && h.Holder.Namespace == p.Namespace && h.Holder.Name == p.Name; ours && begun(p) {
			continue
		}
		given := slices.ContainsFunc(h.NetworkData, func(a hosts.NetworkAddress) bool { return a.IP == ip })
		seen := !h.NetworkDataFirst && slices.ContainsFunc(h.NICs, func(n hosts.NIC) bool { return slices.Contains(n.IPs, ip) })
		if given || seen {
			return h.Name
		}
	}
	return ""
}
