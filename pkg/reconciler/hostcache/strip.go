package hostcache

import (
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stripHost keeps of a host what package facts reads; a test compares the two.
func stripHost(o any) (any, error) {
	host, ok := o.(*metal3.BareMetalHost)
	if !ok {
		return o, nil
	}
	kept := &metal3.BareMetalHost{ObjectMeta: stripMeta(host.ObjectMeta)}
	kept.Labels = host.Labels
	for _, name := range []string{metal3.PausedAnnotation, metal3.DetachedAnnotation} {
		if value, ok := host.Annotations[name]; ok {
			if kept.Annotations == nil {
				kept.Annotations = map[string]string{}
			}
			kept.Annotations[name] = value
		}
	}
	kept.Spec.BootMACAddress = host.Spec.BootMACAddress
	kept.Spec.ConsumerRef = host.Spec.ConsumerRef
	kept.Status.ErrorMessage = host.Status.ErrorMessage
	kept.Status.ErrorType = host.Status.ErrorType
	kept.Status.OperationalStatus = host.Status.OperationalStatus
	kept.Status.Provisioning.State = host.Status.Provisioning.State
	kept.Status.HardwareDetails = stripDetails(host.Status.HardwareDetails)
	return kept, nil
}

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
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, DeletionTimestamp: m.DeletionTimestamp,
	}
}

func stripDetails(d *metal3.HardwareDetails) *metal3.HardwareDetails {
	if d == nil {
		return nil
	}
	kept := &metal3.HardwareDetails{RAMMebibytes: d.RAMMebibytes}
	kept.CPU.Count = d.CPU.Count
	for _, n := range d.NIC {
		kept.NIC = append(kept.NIC, metal3.NIC{Name: n.Name, MAC: n.MAC, IP: n.IP, PXE: n.PXE})
	}
	return kept
}
