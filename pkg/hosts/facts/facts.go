package facts

import (
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// Of describes a host. data is the HardwareData of the host, or nil. Each hardware fact is read
// from data, because this object outlives the status of the host. A fact that is missing in data is
// read from the status. The result and the object share the labels. They also share the CPU flags
// if these are already in the form of Flags.
//
// Metal3 does not report SR-IOV and QAT. The labels contract.LabelSRIOV and contract.LabelQAT of
// the host have the value "true" if the host has the feature, and any other value if it does not.
// Without its label, a host has no QAT. Without its label, a host has SR-IOV if the model of one of
// its network cards is known to support it (see knownSRIOV).
func Of(host *metal3.BareMetalHost, data *metal3.HardwareData) hosts.Host {
	h := hosts.Host{
		Name:          host.Name,
		UID:           string(host.UID),
		Labels:        host.Labels,
		QAT:           says(host.Labels, contract.LabelQAT, false),
		Holder:        HolderOf(host),
		Node:          host.Labels[contract.LabelNode],
		Set:           host.Labels[contract.LabelSet],
		Standby:       says(host.Labels, contract.LabelStandby, false),
		NetworkUnread: NetworkDataSecret(host) != "",
		UsedBy:        usedBy(host),
		Image:         host.Status.Provisioning.Image.URL,
		Imaged:        host.Spec.Image != nil || host.Spec.CustomDeploy != nil,
	}
	boot := strings.ToLower(host.Spec.BootMACAddress)
	hardware(&h, host, data, boot)
	if says(host.Labels, contract.LabelSRIOV, true) {
		h.SRIOV = slices.ContainsFunc(h.NICs, func(n hosts.NIC) bool { return n.SRIOV }) || says(host.Labels, contract.LabelSRIOV, false)
	} else {
		for i := range h.NICs {
			h.NICs[i].SRIOV = false
		}
	}
	if boot != "" {
		h.MACs = append(h.MACs, boot)
	}
	for _, nic := range h.NICs {
		if !slices.Contains(h.MACs, nic.MAC) {
			h.MACs = append(h.MACs, nic.MAC)
		}
	}
	setUsability(&h, host)
	h.NetworkDataFirst = h.NetworkUnread && !host.Spec.ExternallyProvisioned && (h.Bare || h.Imaged)
	return h
}

// says reports whether a label has the value "true". If the host does not have the label, says
// returns missing.
func says(labels map[string]string, name string, missing bool) bool {
	value, has := labels[name]
	if !has {
		return missing
	}
	return strings.EqualFold(value, "true")
}

// HolderOf returns the holder of a host; nil: the host is free. A reference without a namespace means an object
// in the namespace of the host.
func HolderOf(host *metal3.BareMetalHost) *hosts.Holder {
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

// maxUser is the maximum length, in bytes, of each part of a User that is read from a host.
const maxUser = 253

// usedBy returns the Provisioning in the annotation contract.AnnotationUsedBy, or the zero value if
// the host does not have the annotation. A user can write the annotation too, so it can have any
// value. Whatever its value is, the host counts as used.
func usedBy(host *metal3.BareMetalHost) contract.User {
	text, used := host.Annotations[contract.AnnotationUsedBy]
	if !used {
		return contract.User{}
	}
	user := contract.ParseUser(text)
	user.Namespace, user.Name, user.UID = Clean(user.Namespace, maxUser), Clean(user.Name, maxUser), Clean(user.UID, maxUser)
	if user.Name == "" {
		user.Name = "unknown"
	}
	return user
}

// NetworkDataSecret returns the name of the Secret, in the namespace of the host, from which Metal3
// configures the network of the host. Empty: there is none. It ignores a reference to another
// namespace, as Metal3 does.
func NetworkDataSecret(host *metal3.BareMetalHost) string {
	ref := host.Spec.NetworkData
	switch {
	case ref == nil:
		return host.Spec.PreprovisioningNetworkDataName
	case ref.Namespace != "" && ref.Namespace != host.Namespace:
		return ""
	}
	return ref.Name
}
