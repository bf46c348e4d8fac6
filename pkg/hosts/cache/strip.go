package cache

import (
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// mostMessage is the maximum length, in bytes, of a stored error message. Package facts reads only
// a shorter part of it.
const mostMessage = 1 << 10

// hasBMC takes the place of the address of a BMC. Package facts only reads whether there is one.
const hasBMC = "known"

// annotations are the annotations that package facts reads.
var annotations = []string{
	metal3.PausedAnnotation, metal3.DetachedAnnotation, contract.AnnotationQuarantine, contract.AnnotationUsedBy, contract.AnnotationFenced,
	facts.AnnotationPowerOff, facts.AnnotationUnhealthy, facts.AnnotationUnhealthyOld,
}

// stripHost returns a copy of a host with only the fields that package facts reads. A test checks
// that the copy has the same facts as the host.
func stripHost(o any) (any, error) {
	host, ok := o.(*metal3.BareMetalHost)
	if !ok {
		return o, nil
	}
	kept := &metal3.BareMetalHost{ObjectMeta: stripMeta(host.ObjectMeta)}
	kept.Labels = host.Labels
	for _, name := range annotations {
		if value, ok := host.Annotations[name]; ok {
			if kept.Annotations == nil {
				kept.Annotations = map[string]string{}
			}
			kept.Annotations[name] = value
		}
	}
	kept.Spec = metal3.BareMetalHostSpec{
		BootMACAddress:                 host.Spec.BootMACAddress,
		Online:                         host.Spec.Online,
		ConsumerRef:                    host.Spec.ConsumerRef,
		Architecture:                   same(host.Spec.Architecture),
		ExternallyProvisioned:          host.Spec.ExternallyProvisioned,
		CustomDeploy:                   host.Spec.CustomDeploy,
		NetworkData:                    host.Spec.NetworkData,
		PreprovisioningNetworkDataName: host.Spec.PreprovisioningNetworkDataName,
	}
	kept.Spec.DisablePowerOff = host.Spec.DisablePowerOff
	if host.Spec.BMC.Address != "" {
		kept.Spec.BMC.Address = hasBMC
	}
	if host.Spec.Image != nil {
		kept.Spec.Image = sameImage(host.Spec.Image.URL)
	}
	kept.Status = metal3.BareMetalHostStatus{
		ErrorMessage:      strings.Clone(host.Status.ErrorMessage[:min(len(host.Status.ErrorMessage), mostMessage)]),
		ErrorType:         host.Status.ErrorType,
		OperationalStatus: host.Status.OperationalStatus,
		PoweredOn:         host.Status.PoweredOn,
		HardwareDetails:   stripDetails(host.Status.HardwareDetails),
		Provisioning: metal3.ProvisionStatus{
			State:        host.Status.Provisioning.State,
			Image:        metal3.Image{URL: same(host.Status.Provisioning.Image.URL)},
			CustomDeploy: host.Status.Provisioning.CustomDeploy,
		},
	}
	if _, fenced := host.Annotations[contract.AnnotationFenced]; fenced {
		kept.Status.LastUpdated, kept.Status.ErrorCount = host.Status.LastUpdated, host.Status.ErrorCount
	}
	return kept, nil
}

// stripHardware returns a copy of a HardwareData with only the fields that package facts reads.
func stripHardware(o any) (any, error) {
	data, ok := o.(*metal3.HardwareData)
	if !ok {
		return o, nil
	}
	kept := &metal3.HardwareData{ObjectMeta: stripMeta(data.ObjectMeta)}
	kept.Spec.HardwareDetails = stripDetails(data.Spec.HardwareDetails)
	return kept, nil
}

func stripMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: same(m.Namespace), UID: m.UID, ResourceVersion: m.ResourceVersion, DeletionTimestamp: m.DeletionTimestamp,
	}
}
