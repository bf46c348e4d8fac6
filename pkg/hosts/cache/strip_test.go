package cache

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// details returns hardware details in which every field is set, including fields that the cache
// does not keep.
func details() *metal3.HardwareDetails {
	return &metal3.HardwareDetails{
		SystemVendor: metal3.HardwareSystemVendor{Manufacturer: "Dell Inc.", ProductName: "PowerEdge R740", SerialNumber: "dropped"},
		Firmware:     metal3.Firmware{BIOS: metal3.BIOS{Vendor: "Dell Inc.", Version: "2.21.2", Date: "02/19/2024"}},
		RAMMebibytes: 16384,
		Hostname:     "dropped",
		NIC: []metal3.NIC{
			{Name: "eth0", MAC: "00:C6:14:04:61:B2", IP: "10.60.0.11", PXE: true, Model: "0x8086 0x158B", SpeedGbps: 25, VLANID: 7, PCIAddress: "dropped"},
			{Name: "eth1", MAC: "00:c6:14:04:61:b3", Model: "0x14e4 0x165f", LLDP: &metal3.LLDP{SwitchID: "dropped"}},
		},
		Storage: []metal3.Storage{
			{Name: "/dev/dropped", Type: metal3.SSD, SizeBytes: 480 * metal3.GigaByte, SerialNumber: "dropped", AlternateNames: []string{"dropped"}},
			{Rotational: true, SizeBytes: 4 * metal3.TeraByte},
		},
		CPU: metal3.CPU{Count: 8, Arch: "x86_64", Model: "Xeon", ClockMegahertz: 2999.7, Flags: []string{"SSE", "aes"}},
	}
}

// anyHost returns a host in a random state and with random values.
func anyHost(r *rand.Rand) *metal3.BareMetalHost {
	maybe := func() bool { return r.IntN(3) == 0 }
	h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Name: "host-1", Namespace: "site", UID: "u",
		Labels:        map[string]string{contract.LabelNode: "n", contract.LabelSet: "s", contract.LabelStandby: "true", "rack": "r1"},
		Annotations:   map[string]string{metal3.StatusAnnotation: "dropped"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "dropped"}},
		Finalizers:    []string{"dropped"},
	}}
	for _, name := range annotations {
		if r.IntN(8) == 0 {
			h.Annotations[name] = "fan"
		}
	}
	if maybe() {
		h.Annotations[contract.AnnotationFenced] = "2026-11-21T09:00:00Z site/edge-1 u"
	}
	for _, name := range []string{contract.LabelSRIOV, contract.LabelQAT} {
		if maybe() {
			h.Labels[name] = []string{"true", "false"}[r.IntN(2)]
		}
	}
	if r.IntN(9) == 0 {
		now := metav1.Now()
		h.DeletionTimestamp = &now
	}
	h.Spec.BootMACAddress, h.Spec.Architecture = "00:c6:14:04:61:b2", "arm64"
	h.Spec.Description, h.Spec.DisablePowerOff = "dropped", r.IntN(8) == 0
	if !maybe() {
		h.Spec.BMC.Address = "dropped"
	}
	h.Spec.ExternallyProvisioned, h.Spec.Online = maybe(), maybe()
	urls := []string{"", "http://site/a", "http://site/b"}
	if maybe() {
		h.Spec.Image = &metal3.Image{URL: urls[r.IntN(3)], Checksum: "dropped"}
	}
	if maybe() {
		h.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "m"}
	}
	if maybe() {
		h.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "K", Name: "n", UID: "u"}
	}
	if maybe() {
		h.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
	}
	if maybe() {
		h.Spec.PreprovisioningNetworkDataName = "before"
	}
	h.Status = metal3.BareMetalHostStatus{
		OperationalStatus: []metal3.OperationalStatus{"", "OK", "error", "detached", "servicing"}[r.IntN(5)],
		PoweredOn:         maybe(), GoodCredentials: metal3.CredentialsStatus{Version: "dropped"},
		Provisioning: metal3.ProvisionStatus{
			State: []metal3.ProvisioningState{
				metal3.StateNone, metal3.StateProvisioned, metal3.StateExternallyProvisioned, metal3.StateAvailable, metal3.StateProvisioning, metal3.StateDeleting,
			}[r.IntN(6)],
			Image: metal3.Image{URL: urls[r.IntN(3)], Checksum: "dropped"}, ID: "dropped",
		},
	}
	if r.IntN(8) == 0 {
		h.Status.ErrorMessage, h.Status.ErrorType = strings.Repeat(" BMC\n", r.IntN(999)), metal3.PowerManagementError
		h.Status.ErrorCount, h.Status.LastUpdated = r.IntN(4), &metav1.Time{Time: time.Date(2026, 11, 21, 9, r.IntN(2), 0, 0, time.UTC)}
	}
	if maybe() {
		h.Status.Provisioning.CustomDeploy = &metal3.CustomDeploy{Method: []string{"m", "other"}[r.IntN(2)]}
	}
	if maybe() {
		h.Status.HardwareDetails = details()
	}
	return h
}

// TestStrippedHostsLookTheSame checks that no field that an assignment depends on is dropped, in
// any state of a host.
func TestStrippedHostsLookTheSame(t *testing.T) {
	for seed := range uint64(3000) {
		host := anyHost(rand.New(rand.NewPCG(seed, 1)))
		data := &metal3.HardwareData{Spec: metal3.HardwareDataSpec{HardwareDetails: details()}}
		stripped, _ := stripHost(host.DeepCopy())
		strippedData, _ := stripHardware(data.DeepCopy())
		for what, pair := range map[string][2]any{
			"by status":   {facts.Of(host, nil), facts.Of(stripped.(*metal3.BareMetalHost), nil)},
			"by hardware": {facts.Of(host, data), facts.Of(stripped.(*metal3.BareMetalHost), strippedData.(*metal3.HardwareData))},
		} {
			if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Fatalf("seed %d, %s (-whole +stripped):\n%s", seed, what, diff)
			}
		}
		for _, o := range []any{stripped, strippedData} {
			if text, err := json.Marshal(o); err != nil || strings.Contains(string(text), "dropped") {
				t.Fatalf("seed %d: %v, a field is kept that is not needed: %s", seed, err, text)
			}
		}
		again, _ := stripHost(stripped)
		if diff := cmp.Diff(stripped, again); diff != "" {
			t.Fatalf("seed %d: stripped twice (-once +twice):\n%s", seed, diff)
		}
	}
}

// TestSame checks that equal values are stored once, and that the size of a pool is limited.
func TestSame(t *testing.T) {
	a, b := details(), details()
	b.CPU.Flags[0] = "other"
	one, two, other := stripDetails(a), stripDetails(a.DeepCopy()), stripDetails(b)
	if &one.CPU.Flags[0] != &two.CPU.Flags[0] || &one.Storage[0] != &two.Storage[0] {
		t.Error("equal hosts do not share their flags and disks")
	}
	if cmp.Diff(other.CPU.Flags, []string{"aes", "other"}) != "" || cmp.Diff(one.CPU.Flags, []string{"aes", "sse"}) != "" {
		t.Errorf("flags %v and %v", one.CPU.Flags, other.CPU.Flags)
	}
	var p pool[int]
	for n := range 3 * mostPooled {
		if got := p.get(string(rune(n)), func() int { return n }); got != n && n < 0xd800 {
			t.Fatalf("%d for %d", got, n)
		}
	}
	if len(p.kept) > mostPooled {
		t.Errorf("the pool keeps %d", len(p.kept))
	}
}
