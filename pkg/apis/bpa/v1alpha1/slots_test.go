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

func TestSlotsOfABadSpec(t *testing.T) {
	for spec, want := range map[string]string{
		"masters: [{m: {mac-address: x}}]":                         `spec.masters[0].m: mac-address: "x" is no MAC address: ` + adviceMAC,
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
