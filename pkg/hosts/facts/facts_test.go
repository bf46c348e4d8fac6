package facts

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

var byString = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// provisioned returns a usable host, changed by the given functions.
func provisioned(change ...func(*metal3.BareMetalHost)) *metal3.BareMetalHost {
	host := &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Name: "host-1", Namespace: "site", UID: "u1"},
		Spec:       metal3.BareMetalHostSpec{Online: true, Image: &metal3.Image{URL: "http://site/os.qcow2"}},
		Status: metal3.BareMetalHostStatus{
			OperationalStatus: metal3.OperationalStatusOK,
			PoweredOn:         true,
			Provisioning:      metal3.ProvisionStatus{State: metal3.StateProvisioned, Image: metal3.Image{URL: "http://site/os.qcow2"}},
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

func TestHardwareFromEitherObject(t *testing.T) {
	data := &metal3.HardwareData{Spec: metal3.HardwareDataSpec{HardwareDetails: details(metal3.NIC{Name: "eth0", MAC: "00:C6:14:04:61:B2", IP: "10.0.0.5"})}}
	want := hosts.Host{
		Image: "http://site/os.qcow2", Imaged: true,
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

// TestHardwarePerFact checks that a fact that is missing in one object is read from the other.
func TestHardwarePerFact(t *testing.T) {
	whole := &metal3.HardwareDetails{
		SystemVendor: metal3.HardwareSystemVendor{Manufacturer: "Dell Inc.", ProductName: "PowerEdge R740"},
		Firmware:     metal3.Firmware{BIOS: metal3.BIOS{Vendor: "Dell Inc.", Version: "2.21.2", Date: "02/19/2024"}},
		RAMMebibytes: 64 << 10,
		NIC:          []metal3.NIC{{Name: "eth0", MAC: "02:00:00:00:00:01", Model: "0x8086 0x158B", SpeedGbps: 25, IP: "10.0.0.5"}},
		Storage:      []metal3.Storage{{Type: metal3.NVME, SizeBytes: 960 * metal3.GigaByte}, {Rotational: true, SizeBytes: 1}, {Name: "/dev/sr0"}},
		CPU:          metal3.CPU{Arch: "x86_64", Model: "Xeon", ClockMegahertz: 2999.6, Count: 32, Flags: []string{"sse", "AES"}},
	}
	want := hosts.Host{
		Image: "http://site/os.qcow2", Imaged: true,
		Name: "host-1", UID: "u1", CPU: 32, Memory: 64 << 30, Architecture: "x86_64", CPUModel: "Xeon", CPUClock: 3000,
		CPUFlags: []string{"aes", "sse"}, Vendor: "Dell Inc.", Product: "PowerEdge R740", SRIOV: true,
		Firmware: contract.Firmware{Vendor: "Dell Inc.", Version: "2.21.2", Date: "02/19/2024"},
		MACs:     []string{"02:00:00:00:00:01"},
		NICs: []hosts.NIC{{
			Name: "eth0", MAC: "02:00:00:00:00:01", IPs: []netip.Addr{netip.MustParseAddr("10.0.0.5")}, Speed: 25, Model: "0x8086 0x158b", SRIOV: true,
		}},
		Disks: []hosts.Disk{{Size: 960e9, Type: "NVME"}, {Size: 1, Type: "HDD"}},
	}
	in := func(d *metal3.HardwareDetails) *metal3.HardwareData {
		return &metal3.HardwareData{Spec: metal3.HardwareDataSpec{HardwareDetails: d}}
	}
	partial := &metal3.HardwareDetails{RAMMebibytes: 64 << 10, CPU: metal3.CPU{Model: "Xeon"}}
	old := whole.DeepCopy()
	old.RAMMebibytes, old.CPU.Model = 1, "replaced"
	for name, pair := range map[string][2]*metal3.HardwareDetails{
		"only HardwareData":      {whole, nil},
		"only the status":        {nil, whole},
		"HardwareData counts":    {whole, {RAMMebibytes: 1, CPU: metal3.CPU{Count: 1, Arch: "other", Flags: []string{"x"}}, Storage: []metal3.Storage{{SizeBytes: 7}}}},
		"HardwareData in part":   {partial, old},
		"HardwareData is empty":  {{}, whole},
		"the status is in parts": {whole, partial},
	} {
		host := provisioned(func(h *metal3.BareMetalHost) { h.Status.HardwareDetails = pair[1] })
		if diff := cmp.Diff(want, Of(host, in(pair[0])), byString); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestArchitectureOfTheSpec(t *testing.T) {
	got := Of(provisioned(func(h *metal3.BareMetalHost) { h.Spec.Architecture = "arm64" }), nil)
	if got.Architecture != "aarch64" {
		t.Errorf("Architecture = %q", got.Architecture)
	}
}

func TestNoHardware(t *testing.T) {
	got := Of(provisioned(func(h *metal3.BareMetalHost) { h.Spec.BootMACAddress = "00:C6:14:04:61:B2" }), nil)
	want := hosts.Host{Name: "host-1", UID: "u1", Image: "http://site/os.qcow2", Imaged: true, MACs: []string{"00:c6:14:04:61:b2"}}
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
	labels := map[string]string{
		contract.LabelSRIOV: "True", contract.LabelQAT: "no", contract.LabelNode: "workers-1", contract.LabelSet: "workers",
		contract.LabelStandby: "true", "rack": "r1",
	}
	got := Of(provisioned(func(h *metal3.BareMetalHost) {
		h.Labels = labels
		h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Name: "edge-1", UID: "p1"}
	}), nil)
	want := hosts.Host{
		Image: "http://site/os.qcow2", Imaged: true,
		Name: "host-1", UID: "u1", SRIOV: true, Node: "workers-1", Set: "workers", Standby: true, Labels: labels,
		Holder: &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: "edge-1", UID: "p1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Of (-want +got):\n%s", diff)
	}
	if !(hosts.Owner{Namespace: "site", Name: "edge-1"}).Holds(got) {
		t.Error("edge-1 does not hold its host")
	}
}

// TestSRIOVAndQAT checks that the label decides whether a host has SR-IOV. Without the label, the
// network cards decide. Only the label decides whether a host has QAT.
func TestSRIOVAndQAT(t *testing.T) {
	const able, not = "0x8086 0x1572", "0x14e4 0x165f"
	for _, tc := range []struct {
		name, label, model string
		host, nic          bool
	}{
		{"known card", "", able, true, true},
		{"other card", "", not, false, false},
		{"other card, label", "true", not, true, false},
		{"known card, switched off in the firmware", "false", able, false, false},
		{"known card, a label that says nothing", "", able, true, true},
		{"known card, label no", "no", able, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Of(provisioned(func(h *metal3.BareMetalHost) {
				if tc.label != "" {
					h.Labels = map[string]string{contract.LabelSRIOV: tc.label, contract.LabelQAT: tc.label}
				}
				h.Status.HardwareDetails = details(metal3.NIC{Name: "eth0", MAC: "02:00:00:00:00:01", Model: tc.model})
			}), nil)
			if got.SRIOV != tc.host || got.NICs[0].SRIOV != tc.nic || got.QAT != (tc.label == "true") {
				t.Errorf("SR-IOV of the host %t, of the card %t, QAT %t", got.SRIOV, got.NICs[0].SRIOV, got.QAT)
			}
		})
	}
}

func TestNetworkDataSecret(t *testing.T) {
	ref := func(namespace, name string) func(*metal3.BareMetalHost) {
		return func(h *metal3.BareMetalHost) {
			h.Spec.NetworkData = &corev1.SecretReference{Namespace: namespace, Name: name}
		}
	}
	before := func(h *metal3.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "before" }
	for _, tc := range []struct {
		host *metal3.BareMetalHost
		want string
	}{
		{provisioned(), ""},
		{provisioned(before), "before"},
		{provisioned(before, ref("", "net")), "net"},
		{provisioned(ref("site", "net")), "net"},
		{provisioned(ref("kube-system", "net")), ""},
	} {
		if got := NetworkDataSecret(tc.host); got != tc.want || Of(tc.host, nil).NetworkUnread != (tc.want != "") {
			t.Errorf("%+v: Secret %q, want %q", tc.host.Spec, got, tc.want)
		}
	}
}

// TestNetworkDataFirst checks that NetworkDataFirst is set only for hosts that have network data
// and whose operating system Metal3 installs.
func TestNetworkDataFirst(t *testing.T) {
	data := func(h *metal3.BareMetalHost) { h.Spec.NetworkData = &corev1.SecretReference{Name: "net"} }
	image := func(h *metal3.BareMetalHost) { h.Spec.Image = &metal3.Image{URL: "http://site/os"} }
	none := func(h *metal3.BareMetalHost) { h.Spec.Image, h.Spec.CustomDeploy = nil, nil }
	available := func(h *metal3.BareMetalHost) {
		h.Status.Provisioning = metal3.ProvisionStatus{State: metal3.StateAvailable}
	}
	external := func(h *metal3.BareMetalHost) {
		h.Spec.ExternallyProvisioned, h.Status.Provisioning.State = true, metal3.StateExternallyProvisioned
	}
	for name, tc := range map[string]struct {
		host *metal3.BareMetalHost
		want bool
	}{
		"with an image":             {provisioned(data, image), true},
		"by a deploy step":          {provisioned(data, none, func(h *metal3.BareMetalHost) { h.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "install"} }), true},
		"to be given one":           {provisioned(data, none, available), true},
		"of the ramdisk":            {provisioned(image, func(h *metal3.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "pre" }), true},
		"without network data":      {provisioned(image), false},
		"provisioned by others":     {provisioned(data, none, external), false},
		"an image that is not used": {provisioned(data, image, external), false},
	} {
		if got := Of(tc.host, nil).NetworkDataFirst; got != tc.want {
			t.Errorf("%s: NetworkDataFirst = %t", name, got)
		}
	}
}

// TestUsedBy checks that a host with the mark counts as used, whatever the value of the mark is.
func TestUsedBy(t *testing.T) {
	if got := Of(provisioned(), nil).UsedBy; got != (contract.User{}) {
		t.Errorf("without a mark: %+v", got)
	}
	for value, want := range map[string]contract.User{
		"site/edge-1 u1":                 {Namespace: "site", Name: "edge-1", UID: "u1"},
		"":                               {Name: "unknown"},
		"  ":                             {Name: "unknown", UID: ""},
		"somebody":                       {Name: "somebody"},
		"site/edge\x1b[2J u1\n":          {Namespace: "site", Name: "edge [2J", UID: "u1"},
		contract.User{UID: "u"}.String(): {Name: "unknown", UID: "u"},
	} {
		host := provisioned(func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{contract.AnnotationUsedBy: value} })
		if diff := cmp.Diff(want, Of(host, nil).UsedBy); diff != "" {
			t.Errorf("%q (-want +got):\n%s", value, diff)
		}
	}
}
