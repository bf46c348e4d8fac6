package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSlots(t *testing.T) {
	for _, r := range []struct {
		name, spec string
		want       []Slot
	}{
		{"no workers: masters are workers", "masters: [{m1: {mac-address: 00-C6-14-04-61-B2}}, {m2: {cpu: 8, memory: 16Gi}}]", []Slot{
			{Name: "m1", ControlPlane: true, Worker: true, MAC: "00:c6:14:04:61:b2"},
			{Name: "m2", ControlPlane: true, Worker: true, HostRequirements: HostRequirements{CPU: 8, Memory: "16Gi"}},
		}},
		{"masters first, in the order of the spec", "masters: [{b: {cpu: 1}}, {a: {cpu: 1}}]\nworkers: [{d: {cpu: 2, sriov: true}}, {c: {memory: 1Gi, qat: true}}]", []Slot{
			{Name: "b", ControlPlane: true, HostRequirements: HostRequirements{CPU: 1}},
			{Name: "a", ControlPlane: true, HostRequirements: HostRequirements{CPU: 1}},
			{Name: "d", Worker: true, HostRequirements: HostRequirements{CPU: 2, SRIOV: true}},
			{Name: "c", Worker: true, HostRequirements: HostRequirements{Memory: "1Gi", QAT: true}},
		}},
		{"one host in both roles, the greater need holds", "masters: [{m: {mac-address: '00:c6:14:04:61:b2', cpu: 8, memory: 4Gi}}]\nworkers: [{m: {mac-address: '', cpu: 4, memory: 8Gi, sriov: true}}]", []Slot{
			{Name: "m", ControlPlane: true, Worker: true, MAC: "00:c6:14:04:61:b2", HostRequirements: HostRequirements{CPU: 8, Memory: "8Gi", SRIOV: true}},
		}},
		{"both roles, the worker is pinned", "masters: [{m: {cpu: 8}}]\nworkers: [{m: {mac-address: '00:c6:14:04:61:b2'}}]", []Slot{
			{Name: "m", ControlPlane: true, Worker: true, MAC: "00:c6:14:04:61:b2", HostRequirements: HostRequirements{CPU: 8}},
		}},
		{"workers in a set: masters are none", "masters: [{m: {cpu: 1}}]\nnodeSets: [{name: w, count: {active: 1}}]", []Slot{
			{Name: "m", ControlPlane: true, HostRequirements: HostRequirements{CPU: 1}},
		}},
		{"a set of both roles has workers", "masters: [{m: {cpu: 1}}]\nnodeSets: [{name: c, role: control-plane-worker, count: {active: 2}}]", []Slot{
			{Name: "m", ControlPlane: true, HostRequirements: HostRequirements{CPU: 1}},
		}},
		{"workers that only stand by: masters are workers", "masters: [{m: {cpu: 1}}]\nnodeSets: [{name: w, count: {active: 0, standby: 1}}]", []Slot{
			{Name: "m", ControlPlane: true, Worker: true, HostRequirements: HostRequirements{CPU: 1}},
		}},
		{"a name that another one begins with", "masters: [{m: {cpu: 1}}]\nworkers: [{worker-10: {cpu: 1}}, {worker-1: {cpu: 1}}]", []Slot{
			{Name: "m", ControlPlane: true, HostRequirements: HostRequirements{CPU: 1}}, {Name: "worker-10", Worker: true, HostRequirements: HostRequirements{CPU: 1}}, {Name: "worker-1", Worker: true, HostRequirements: HostRequirements{CPU: 1}},
		}},
	} {
		t.Run(r.name, func(t *testing.T) {
			got, err := provisioning(t, r.spec).Spec.Slots()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A worker with a master's name is on the master's host. This host must meet the requirements of
// both roles.
func TestSlotsInBothRoles(t *testing.T) {
	spec := provisioning(t, `masters:
- m:
    selector: {matchLabels: {rack: r1, zone: a}, matchExpressions: [{key: gpu, operator: Exists}]}
    qat: true
    cpuFlags: [avx, aes]
    cpuClockMHz: 2400
    disks: [{type: SSD}]
    system: {vendor: Dell*}
    architecture: amd64
workers:
- m:
    selector: {matchLabels: {rack: r1, zone: b}, matchExpressions: [{key: gpu, operator: Exists}, {key: old, operator: DoesNotExist}]}
    sriov: true
    memory: 1000Mi
    cpuFlags: [avx512f, avx]
    cpuClockMHz: 2000
    cpuModel: Intel*
    disks: [{type: SSD}, {type: SSD, count: 2}]
    nics: [{minSpeedGbps: 25}]
    system: {product: R*}
    firmware: {date: "*/2024"}
`)
	want := HostRequirements{
		Memory: "1000Mi", SRIOV: true, QAT: true,
		Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"rack": "r1", "zone": "a"},
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "gpu", Operator: "Exists"}, {Key: "zone", Operator: "In", Values: []string{"b"}}, {Key: "old", Operator: "DoesNotExist"},
			},
		},
		Architecture: "amd64", CPUModel: "Intel*", CPUFlags: []string{"avx", "aes", "avx512f"}, CPUClockMHz: 2400,
		Disks:  []DiskRequirement{{Count: 1, Type: "SSD"}, {Count: 2, Type: "SSD"}},
		NICs:   []NICRequirement{{Count: 1, MinSpeedGbps: 25}},
		System: &SystemRequirement{Vendor: "Dell*", Product: "R*"}, Firmware: &FirmwareRequirement{Date: "*/2024"},
	}
	before := spec.DeepCopy()
	got, err := spec.Spec.Slots()
	if err != nil || len(got) != 1 {
		t.Fatalf("slots %v, error %v", got, err)
	}
	if diff := cmp.Diff(want, got[0].HostRequirements); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, spec); diff != "" {
		t.Errorf("the spec was changed (-before +after):\n%s", diff)
	}
}

// A contract.Request has only one pattern for each field. Therefore, two different patterns for one
// node are rejected, even if a host could match both.
func TestSlotsOfTwoKinds(t *testing.T) {
	for field, roles := range map[string][2]string{
		`architecture: no host is both "x86_64" and "aarch64"`: {"architecture: amd64", "architecture: arm64"},
		`firmware.version: no host is both "1.*" and "2.*"`:    {"firmware: {version: 1.*}", "firmware: {version: 2.*}"},
	} {
		_, err := provisioning(t, "masters: [{m: {"+roles[0]+"}}]\nworkers: [{m: {"+roles[1]+"}}]").Spec.Slots()
		if err == nil || err.Error() != "spec.workers[0].m: "+field {
			t.Errorf("got %v, want %s", err, field)
		}
	}
}

func TestSets(t *testing.T) {
	for _, r := range []struct {
		name, spec string
		want       []NodeRole
	}{
		{"as they say", "nodeSets: [{name: c, role: control-plane, count: {active: 1}}, {name: w, count: {active: 1}}, {name: b, role: control-plane-worker, count: {active: 1}}]",
			[]NodeRole{RoleControlPlane, RoleWorker, RoleControlPlaneWorker}},
		{"workers by name", "nodeSets: [{name: c, role: control-plane, count: {active: 1}}]\nworkers: [{w: {cpu: 1}}]", []NodeRole{RoleControlPlane}},
		{"no workers", "nodeSets: [{name: c, role: control-plane, count: {active: 1}}]", []NodeRole{RoleControlPlaneWorker}},
		{"workers only stand by", "nodeSets: [{name: c, role: control-plane, count: {active: 1}}, {name: w, count: {active: 0, standby: 1}}]",
			[]NodeRole{RoleControlPlaneWorker, RoleWorker}},
		{"none", "masters: [{m: {cpu: 1}}]", nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			p := provisioning(t, r.spec)
			before := p.DeepCopy()
			var got []NodeRole
			for _, set := range p.Spec.Sets() {
				got = append(got, set.Role)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, p); diff != "" {
				t.Errorf("the spec was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestSlotsOfABadSpec(t *testing.T) {
	for spec, want := range map[string]string{
		"masters: [{m: {mac-address: x}}]":                         `spec.masters[0].m: mac-address: "x" is not a MAC address: write six pairs of hexadecimal digits, such as 00:c6:14:04:61:b2`,
		"masters: [{m: {cpu: 1}}]\nworkers: [{w: {memory: 16GB}}]": `spec.workers[0].w: memory "16GB": `,
	} {
		_, err := provisioning(t, spec).Spec.Slots()
		if err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: got %v, want %s", spec, err, want)
		}
	}
}

func TestClusterName(t *testing.T) {
	p := &Provisioning{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	if got := p.ClusterName(); got != "edge-1" {
		t.Errorf("without a label: %q", got)
	}
	p.Labels = map[string]string{"cluster": "c1"}
	if got := p.ClusterName(); got != "c1" {
		t.Errorf("with ICN's label: %q", got)
	}
}

func TestParseMAC(t *testing.T) {
	for _, text := range []string{"00:c6:14:04:61:b2", "00:C6:14:04:61:B2", "00-c6-14-04-61-b2", "00-C6-14-04-61-B2"} {
		if got, err := ParseMAC(text); err != nil || got != "00:c6:14:04:61:b2" {
			t.Errorf("ParseMAC(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "00c6140461b2", "00:c6:14:04:61:b2:00", "0:c6:14:04:61:b2", "00:c6:14:04:61:g2", " 00:c6:14:04:61:b2", "00:c6:14:04:61:b2\n", "FF-FF-FF-FF-FF-FF"} {
		if got, err := ParseMAC(text); err == nil {
			t.Errorf("ParseMAC(%q) = %q, want an error", text, got)
		}
	}
}
