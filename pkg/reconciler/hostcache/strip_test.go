package hostcache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"net/netip"

	"github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

func details() *metal3.HardwareDetails {
	d := &metal3.HardwareDetails{RAMMebibytes: 16384, Hostname: "x", NIC: []metal3.NIC{
		{Name: "eth0", MAC: "00:C6:14:04:61:B2", IP: "10.60.0.11", PXE: true, Model: "dropped"},
		{Name: "eth1", MAC: "00:c6:14:04:61:b3"},
	}, Storage: []metal3.Storage{{Name: "/dev/sda"}}}
	d.CPU.Count, d.CPU.Flags = 8, []string{"sse"}
	return d
}

// TestStrippedHostsLookTheSame: nothing that an assignment depends on is dropped, in any state of a host.
func TestStrippedHostsLookTheSame(t *testing.T) {
	now := metav1.Now()
	base := func(change func(*metal3.BareMetalHost)) *metal3.BareMetalHost {
		h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: "host-1", Namespace: "site", UID: "u",
			Labels:      map[string]string{contract.LabelSRIOV: "true", contract.LabelQAT: "true", contract.LabelNode: "n"},
			Annotations: map[string]string{"baremetalhost.metal3.io/status": "long"}}}
		h.Spec.BootMACAddress = "00:c6:14:04:61:b2"
		h.Spec.Image = &metal3.Image{URL: "dropped"}
		h.Status.Provisioning.State = metal3.StateProvisioned
		h.Status.HardwareDetails = details()
		change(h)
		return h
	}
	for name, host := range map[string]*metal3.BareMetalHost{
		"plain": base(func(*metal3.BareMetalHost) {}),
		"held": base(func(h *metal3.BareMetalHost) {
			h.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "K", Name: "n", UID: "u"}
		}),
		"error":    base(func(h *metal3.BareMetalHost) { h.Status.ErrorMessage, h.Status.ErrorType = "e", "t" }),
		"opstatus": base(func(h *metal3.BareMetalHost) { h.Status.OperationalStatus = metal3.OperationalStatusDetached }),
		"paused":   base(func(h *metal3.BareMetalHost) { h.Annotations[metal3.PausedAnnotation] = "" }),
		"detached": base(func(h *metal3.BareMetalHost) { h.Annotations[metal3.DetachedAnnotation] = "" }),
		"deleting": base(func(h *metal3.BareMetalHost) { h.DeletionTimestamp = &now }),
		"other":    base(func(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateAvailable }),
	} {
		data := &metal3.HardwareData{Spec: metal3.HardwareDataSpec{HardwareDetails: details()}}
		stripped, _ := stripHost(host.DeepCopy())
		strippedData, _ := stripHardware(data.DeepCopy())
		for what, pair := range map[string][2]any{
			"by status":   {facts.Of(host, nil), facts.Of(stripped.(*metal3.BareMetalHost), nil)},
			"by hardware": {facts.Of(host, data), facts.Of(stripped.(*metal3.BareMetalHost), strippedData.(*metal3.HardwareData))},
		} {
			if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("%s %s (-whole +stripped):\n%s", name, what, diff)
			}
		}
		if stripped.(*metal3.BareMetalHost).Spec.Image != nil {
			t.Errorf("%s: the image was kept", name)
		}
	}
}
