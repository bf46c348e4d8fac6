package facts

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

var byString = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// provisioned is a host that can be used, changed by the given functions.
func provisioned(change ...func(*metal3.BareMetalHost)) *metal3.BareMetalHost {
	host := &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Name: "host-1", Namespace: "site", UID: "u1"},
		Status: metal3.BareMetalHostStatus{
			OperationalStatus: metal3.OperationalStatusOK,
			Provisioning:      metal3.ProvisionStatus{State: metal3.StateProvisioned},
		},
	}
	for _, f := range change {
		f(host)
	}
	return host
}

func details(nics ...metal3.NIC) *metal3.HardwareDetails {
	return &metal3.HardwareDetails{CPU: metal3.CPU{Count: 16}, RAMMebibytes: 32 << 10, NIC: nics}
}

func TestUnusable(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*metal3.BareMetalHost)
		want   string
	}{
		{"provisioned", func(h *metal3.BareMetalHost) {}, ""},
		{"externally provisioned", func(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateExternallyProvisioned }, ""},
		{"no power known", func(h *metal3.BareMetalHost) { h.Status.OperationalStatus = "" }, ""},
		{"available", func(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateAvailable }, "not provisioned (available)"},
		{"being provisioned", func(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateProvisioning }, "not provisioned (provisioning)"},
		{"new", func(h *metal3.BareMetalHost) { h.Status = metal3.BareMetalHostStatus{} }, "not provisioned"},
		{"deleting", func(h *metal3.BareMetalHost) { now := metav1.Now(); h.DeletionTimestamp = &now }, "being deleted"},
		{"error message", func(h *metal3.BareMetalHost) { h.Status.ErrorMessage = "no power" }, "in error state"},
		{"error status", func(h *metal3.BareMetalHost) {
			h.Status.OperationalStatus, h.Status.ErrorType = metal3.OperationalStatusError, metal3.PowerManagementError
		}, "in error state (power management error)"},
		{"paused", func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{metal3.PausedAnnotation: ""} }, "paused"},
		{"detached", func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{metal3.DetachedAnnotation: "true"} }, "detached"},
		{"detached status", func(h *metal3.BareMetalHost) { h.Status.OperationalStatus = metal3.OperationalStatusDetached }, "detached"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Of(provisioned(tc.change), nil).Unusable; got != tc.want {
				t.Errorf("Unusable = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHardwareFromEitherObject(t *testing.T) {
	data := &metal3.HardwareData{Spec: metal3.HardwareDataSpec{HardwareDetails: details(metal3.NIC{Name: "eth0", MAC: "00:C6:14:04:61:B2", IP: "10.0.0.5"})}}
	want := hosts.Host{
		Name: "host-1", UID: "u1", CPU: 16, Memory: 32 << 30,
		MACs: []string{"00:c6:14:04:61:b2"},
		NICs: []hosts.NIC{{Name: "eth0", MAC: "00:c6:14:04:61:b2", IPs: []netip.Addr{netip.MustParseAddr("10.0.0.5")}}},
	}
	if diff := cmp.Diff(want, Of(provisioned(), data), byString); diff != "" {
		t.Errorf("from HardwareData (-want +got):\n%s", diff)
	}
	inStatus := provisioned(func(h *metal3.BareMetalHost) { h.Status.HardwareDetails = data.Spec.HardwareDetails })
	if diff := cmp.Diff(want, Of(inStatus, nil), byString); diff != "" {
		t.Errorf("from the status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, Of(inStatus, &metal3.HardwareData{}), byString); diff != "" {
		t.Errorf("from the status, HardwareData being empty (-want +got):\n%s", diff)
	}
}

func TestNoHardware(t *testing.T) {
	got := Of(provisioned(func(h *metal3.BareMetalHost) { h.Spec.BootMACAddress = "00:C6:14:04:61:B2" }), nil)
	want := hosts.Host{Name: "host-1", UID: "u1", MACs: []string{"00:c6:14:04:61:b2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Of (-want +got):\n%s", diff)
	}
}

func TestDualStackCardCountsOnce(t *testing.T) {
	host := provisioned(func(h *metal3.BareMetalHost) {
		h.Spec.BootMACAddress = "02:00:00:00:00:02"
		h.Status.HardwareDetails = details(
			metal3.NIC{Name: "eth0", MAC: "02:00:00:00:00:01", IP: "fd00::5"},
			metal3.NIC{Name: "eth0", MAC: "02:00:00:00:00:01", IP: "10.0.0.5"},
			metal3.NIC{Name: "eth1", MAC: "02:00:00:00:00:02", IP: "fe80::1"},
			metal3.NIC{Name: "eth2", MAC: "02:00:00:00:00:03", IP: "nonsense\n[all]", PXE: true},
			metal3.NIC{Name: "lo"},
		)
	})
	want := []hosts.NIC{
		{Name: "eth0", MAC: "02:00:00:00:00:01", IPs: []netip.Addr{netip.MustParseAddr("fd00::5"), netip.MustParseAddr("10.0.0.5")}},
		{Name: "eth1", MAC: "02:00:00:00:00:02", Boot: true},
		{Name: "eth2", MAC: "02:00:00:00:00:03", Boot: true},
	}
	got := Of(host, nil)
	if diff := cmp.Diff(want, got.NICs, byString); diff != "" {
		t.Errorf("NICs (-want +got):\n%s", diff)
	}
	if want := []string{"02:00:00:00:00:02", "02:00:00:00:00:01", "02:00:00:00:00:03"}; !cmp.Equal(want, got.MACs) {
		t.Errorf("MACs = %v, want %v", got.MACs, want)
	}
}

func TestHolderAndLabels(t *testing.T) {
	got := Of(provisioned(func(h *metal3.BareMetalHost) {
		h.Labels = map[string]string{contract.LabelSRIOV: "true", contract.LabelQAT: "no", contract.LabelNode: "worker-1"}
		h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Name: "edge-1", UID: "p1"}
	}), nil)
	want := hosts.Host{
		Name: "host-1", UID: "u1", SRIOV: true, Node: "worker-1",
		Holder: &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: "edge-1", UID: "p1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Of (-want +got):\n%s", diff)
	}
	if !(hosts.Owner{Namespace: "site", Name: "edge-1"}).Holds(got) {
		t.Error("edge-1 does not hold its host")
	}
}
