package hostfile

import (
	"reflect"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// hostField is a field of a host that an import compares.
type hostField struct {
	path string
	// same reports whether the stored host is as the row requests. A field that the row leaves out is the same.
	same func(row, stored *metal3.BareMetalHostSpec) bool
	// keep returns why a difference stays; empty: it does not.
	keep func(Change) string
	set  func(stored, row *metal3.BareMetalHostSpec)
}

type spec = metal3.BareMetalHostSpec

// hostFields are the fields of a host, with what may change in a host that is there. Metal3's webhook has the rules for the
// addresses, and refuses what is kept here.
var hostFields = []hostField{
	{pathAddress, func(r, s *spec) bool { return r.BMC.Address == s.BMC.Address }, Change.registered, func(s, r *spec) { s.BMC.Address = r.BMC.Address }},
	{"bmc.credentialsName", func(r, s *spec) bool { return r.BMC.CredentialsName == s.BMC.CredentialsName }, Change.inUse, func(s, r *spec) { s.BMC.CredentialsName = r.BMC.CredentialsName }},
	{pathNoVerify, func(r, s *spec) bool {
		return r.BMC.DisableCertificateVerification == s.BMC.DisableCertificateVerification
	}, Change.inUse, func(s, r *spec) { s.BMC.DisableCertificateVerification = r.BMC.DisableCertificateVerification }},
	{pathBootMAC, func(r, s *spec) bool {
		return r.BootMACAddress == "" || strings.EqualFold(r.BootMACAddress, s.BootMACAddress)
	}, Change.hasMAC, func(s, r *spec) { s.BootMACAddress = r.BootMACAddress }},
	{pathBootMode, func(r, s *spec) bool { return r.BootMode == "" || r.BootMode == s.BootMode }, Change.osInstalled, func(s, r *spec) { s.BootMode = r.BootMode }},
	{pathHints, func(r, s *spec) bool {
		return r.RootDeviceHints == nil || reflect.DeepEqual(r.RootDeviceHints, s.RootDeviceHints)
	}, Change.osInstalled, func(s, r *spec) { s.RootDeviceHints = r.RootDeviceHints }},
	{pathNetwork, func(r, s *spec) bool {
		return r.NetworkData == nil || s.NetworkData != nil && r.NetworkData.Name == s.NetworkData.Name
	}, Change.osInstalled, func(s, r *spec) { s.NetworkData = r.NetworkData }},
	{pathRamdisk, func(r, s *spec) bool {
		return r.PreprovisioningNetworkDataName == "" || r.PreprovisioningNetworkDataName == s.PreprovisioningNetworkDataName
	}, Change.inUse, func(s, r *spec) { s.PreprovisioningNetworkDataName = r.PreprovisioningNetworkDataName }},
	{pathExternal, func(r, s *spec) bool { return !r.ExternallyProvisioned || s.ExternallyProvisioned }, Change.never, nil},
}

// inUse says that a cluster or another consumer has the host; empty: none has.
func (c Change) inUse() string {
	if c.Stored == nil {
		return ""
	}
	switch used := c.Stored.Annotations[contract.AnnotationUsedBy]; {
	case c.Stored.Spec.ConsumerRef != nil:
		return "the host is claimed by " + shown(c.Stored.Spec.ConsumerRef.Name)
	case used != "":
		return "the host is used by " + shown(used)
	}
	return ""
}

// bare are the states of a host without an operating system.
var bare = []metal3.ProvisioningState{metal3.StateNone, metal3.StateUnmanaged, metal3.StateRegistering, metal3.StateInspecting, metal3.StateMatchProfile, metal3.StatePreparing, metal3.StateAvailable, metal3.StateReady}

// osInstalled says that the host has an operating system, which has got the value that it has; empty: it has none. A host
// that Metal3 has not provisioned itself counts only as long as it is in use.
func (c Change) osInstalled() string {
	if why := c.inUse(); why != "" || c.Stored == nil {
		return why
	}
	state := c.Stored.Status.Provisioning.State
	if c.Stored.Spec.Image != nil || !slices.Contains(bare, state) && state != metal3.StateExternallyProvisioned {
		return "the host is " + shown(string(state))
	}
	return ""
}

// registered says that Metal3 has registered the host with the address that it has.
func (c Change) registered() string {
	if why := c.inUse(); why != "" {
		return why
	}
	switch state := c.Stored.Status.Provisioning.State; state {
	case metal3.StateNone, metal3.StateUnmanaged, metal3.StateRegistering:
		return ""
	default:
		return "the host is " + shown(string(state)) + ", and Metal3 changes the address only while it registers a host. Delete the host and import it again"
	}
}

// hasMAC says that the host has a boot MAC address.
func (c Change) hasMAC() string {
	if c.Stored.Spec.BootMACAddress == "" {
		return ""
	}
	why := "Metal3 never changes it"
	if used := c.inUse(); used != "" {
		return why + ", and " + used
	}
	return why + ". Delete the host and import it again"
}

func (c Change) never() string { return "an import sets it only in a new host" }
