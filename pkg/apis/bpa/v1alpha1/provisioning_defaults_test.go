package v1alpha1

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDefaults(t *testing.T) {
	got := &Provisioning{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	got.SetDefaults(context.Background())

	want := &Provisioning{
		ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Labels: map[string]string{"cluster": "edge-1"}},
		Spec: ProvisioningSpec{
			PodSubnet:  "10.233.64.0/18",
			Kubernetes: KubernetesSpec{Version: "1.35.4", ServiceSubnet: "10.233.0.0/18", NetworkPlugin: "flannel"},
			SSH:        SSHSpec{User: "root", Port: 22, SecretName: "ssh-key"},
			Timeouts:   TimeoutsSpec{Install: &metav1.Duration{Duration: 2 * time.Hour}, Drain: &metav1.Duration{Duration: 10 * time.Minute}},

			DeletionPolicy: DeletionReset, ReplacePolicy: ReplaceStandby,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDefaultsKeepWhatIsSaid(t *testing.T) {
	want := &Provisioning{
		ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Labels: map[string]string{"cluster": ""}},
		Spec: ProvisioningSpec{
			PodSubnet:  "10.1.0.0/16",
			Kubernetes: KubernetesSpec{Version: "1.34.0", ServiceSubnet: "10.2.0.0/16", NetworkPlugin: "calico"},
			SSH:        SSHSpec{User: "icn", Port: 2222, SecretName: "key"},
			Depot:      DepotSpec{URL: "http://depot"},
			Timeouts:   TimeoutsSpec{Install: &metav1.Duration{Duration: time.Minute}, Drain: &metav1.Duration{Duration: time.Second}},

			DeletionPolicy: DeletionRetain, ReplacePolicy: ReplaceNever, Priority: -5,
		},
	}
	got := want.DeepCopy()
	got.Spec.Kubernetes.Version = "v1.34.0"
	got.Spec.Depot.URL = "http://depot//"
	got.SetDefaults(context.Background())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// kubectl apply turns "- master-1:" into an empty item; its annotation still contains the name.
func TestNamesThatKubectlDropsComeBack(t *testing.T) {
	const written = `{"spec": {"masters": [{"m": {"cpu": 4}}], "workers": [{"m": null}, {"w": {"cpu": 1}}]}}`
	cpu1 := Worker{HostRequirements: HostRequirements{CPU: 1}}
	for _, r := range []struct {
		name, annotation string
		got, want        []map[string]Worker
	}{
		{"dropped", written, []map[string]Worker{{}, {"w": cpu1}}, []map[string]Worker{{"m": {}}, {"w": cpu1}}},
		{"not applied by kubectl", "", []map[string]Worker{{}, {"w": cpu1}}, []map[string]Worker{{}, {"w": cpu1}}},
		{"changed since", written, []map[string]Worker{{}}, []map[string]Worker{{}}},
		{"had a value", written, []map[string]Worker{{"m": {}}, {}}, []map[string]Worker{{"m": {}}, {}}},
		{"unreadable", "x", []map[string]Worker{{}}, []map[string]Worker{{}}},
	} {
		t.Run(r.name, func(t *testing.T) {
			p := &Provisioning{Spec: ProvisioningSpec{Workers: r.got}}
			p.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": r.annotation}
			p.SetDefaults(context.Background())
			if diff := cmp.Diff(r.want, p.Spec.Workers); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultsOfNodes(t *testing.T) {
	const hardware = "disks: [{type: nvme}, {count: 2, type: tape}], nics: [{}, {count: 3}]"
	got := provisioning(t, "masters: [{m: {"+hardware+"}}]\nworkers: [{w: {"+hardware+"}}]\n"+
		"nodeSets: [{name: a, count: {active: 1}, topologyKey: rack, "+hardware+"}, {name: b, count: {active: 1}},"+
		" {name: c, role: control-plane, count: {active: 1}, topologyKey: rack, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}]").Spec

	filled := HostRequirements{Disks: []DiskRequirement{{Count: 1, Type: "NVME"}, {Count: 2, Type: "tape"}}, NICs: []NICRequirement{{Count: 1}, {Count: 3}}}
	want := got.DeepCopy()
	want.Masters = []map[string]Master{{"m": {HostRequirements: filled}}}
	want.Workers = []map[string]Worker{{"w": {HostRequirements: filled}}}
	want.NodeSets = []NodeSet{
		{Name: "a", Role: "worker", Count: NodeCount{Active: 1}, HostRequirements: filled, TopologyKey: "rack", MaxSkew: 1, WhenUnsatisfiable: "DoNotSchedule"},
		{Name: "b", Role: "worker", Count: NodeCount{Active: 1}},
		{Name: "c", Role: "control-plane", Count: NodeCount{Active: 1}, TopologyKey: "rack", MaxSkew: 2, WhenUnsatisfiable: "ScheduleAnyway"},
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
