package facts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// Of describes a host. The hardware is read from its HardwareData, which outlives the status, else from its status; data may be nil.
//
// Metal3 knows nothing of SR-IOV and QAT: the labels contract.LabelSRIOV and contract.LabelQAT on the host say "true" if it has them.
func Of(host *metal3.BareMetalHost, data *metal3.HardwareData) hosts.Host {
	h := hosts.Host{
		Name:     host.Name,
		UID:      string(host.UID),
		SRIOV:    host.Labels[contract.LabelSRIOV] == "true",
		QAT:      host.Labels[contract.LabelQAT] == "true",
		Holder:   holder(host),
		Node:     host.Labels[contract.LabelNode],
		Unusable: unusable(host),
	}
	boot := strings.ToLower(host.Spec.BootMACAddress)
	if hw := hardware(host, data); hw != nil {
		h.CPU = hw.CPU.Count
		h.Memory = int64(hw.RAMMebibytes) << 20
		h.NICs = nics(hw.NIC, boot)
	}
	if boot != "" {
		h.MACs = append(h.MACs, boot)
	}
	for _, nic := range h.NICs {
		if !slices.Contains(h.MACs, nic.MAC) {
			h.MACs = append(h.MACs, nic.MAC)
		}
	}
	return h
}

func hardware(host *metal3.BareMetalHost, data *metal3.HardwareData) *metal3.HardwareDetails {
	if data != nil && data.Spec.HardwareDetails != nil {
		return data.Spec.HardwareDetails
	}
	return host.Status.HardwareDetails
}

// nics lists each card once: Metal3 repeats a card with two addresses.
func nics(reported []metal3.NIC, boot string) []hosts.NIC {
	var found []hosts.NIC
	for _, n := range reported {
		mac := strings.ToLower(n.MAC)
		if mac == "" {
			continue
		}
		i := slices.IndexFunc(found, func(f hosts.NIC) bool { return f.MAC == mac && f.Name == n.Name })
		if i < 0 {
			i = len(found)
			found = append(found, hosts.NIC{Name: n.Name, MAC: mac})
		}
		found[i].Boot = found[i].Boot || n.PXE || mac == boot
		if ip, ok := address(n.IP); ok && !slices.Contains(found[i].IPs, ip) {
			found[i].IPs = append(found[i].IPs, ip)
		}
	}
	return found
}

// address reads an address that other machines can reach: none that is link-local or has a zone.
func address(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(text)
	ip = ip.Unmap()
	return ip, err == nil && ip.IsGlobalUnicast() && ip.Zone() == ""
}

func holder(host *metal3.BareMetalHost) *hosts.Holder {
	ref := host.Spec.ConsumerRef
	if ref == nil {
		return nil
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = host.Namespace
	}
	return &hosts.Holder{
		Group:     schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group,
		Kind:      ref.Kind,
		Namespace: namespace,
		Name:      ref.Name,
		UID:       string(ref.UID),
	}
}

// unusable is why nobody can use a host as it is, in words that complete "host-1 is ..." and "2 hosts: 1 ...".
func unusable(host *metal3.BareMetalHost) string {
	state := host.Status.Provisioning.State
	_, paused := host.Annotations[metal3.PausedAnnotation]
	_, detached := host.Annotations[metal3.DetachedAnnotation]
	switch {
	case !host.DeletionTimestamp.IsZero():
		return "being deleted"
	case host.Status.ErrorMessage != "" || host.Status.OperationalStatus == metal3.OperationalStatusError:
		return "in error state" + inBrackets(string(host.Status.ErrorType))
	case paused:
		return "paused"
	case detached || host.Status.OperationalStatus == metal3.OperationalStatusDetached:
		return "detached"
	case state != metal3.StateProvisioned && state != metal3.StateExternallyProvisioned:
		return "not provisioned" + inBrackets(string(state))
	}
	return ""
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", s)
}
