package adopt

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine/machinetest"
)

// answers are what kubectl prints, in the order of Questions.
func answers(ca string) []string {
	text, _ := json.Marshal(ca)
	return []string{`{"items": [
  {"metadata": {"name": "m", "labels": {"node-role.kubernetes.io/control-plane": ""}, "creationTimestamp": "2026-11-28T03:00:00Z"}, "spec": {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]},
   "status": {"nodeInfo": {"kubeletVersion": "v1.35.4"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "InternalIP", "address": "fd00::1"}, {"type": "Hostname", "address": "m"}]}},
  {"metadata": {"name": "both", "labels": {"node-role.kubernetes.io/control-plane": ""}}},
  {"metadata": {"name": "w"}}]}`,
		`{"metadata": {"name": "kubeadm-config"}, "data": {"ClusterConfiguration": "clusterName: cluster.local\ncontrolPlaneEndpoint: api.example:8443\nkubernetesVersion: v1.35.4\nnetworking:\n  dnsDomain: cluster.local\n  podSubnet: 10.244.64.0/18,fd00::/64\n  serviceSubnet: 10.233.0.0/18\n"}}`,
		`{"data": {"ca.crt": ` + string(text) + `}}`,
		"daemonset.apps/kube-proxy\ndaemonset.apps/kube-flannel\n"}
}

func TestQuestions(t *testing.T) {
	ca := machinetest.NewCA(t, time.Now())
	var c Cluster
	for i, answer := range answers(ca.PEM) {
		if err := Questions[i].Read(&c, []byte(answer)); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.CA) != 1 {
		t.Errorf("%d certificates", len(c.CA))
	}
	c.CA = nil
	plane, worker := contract.RoleControlPlane, contract.RoleWorker
	want := Cluster{Version: "1.35.4", PodSubnet: "10.244.64.0/18,fd00::/64", ServiceSubnet: "10.233.0.0/18", DNSDomain: "cluster.local", Name: "cluster.local", NetworkPlugin: "flannel", Endpoint: "api.example:8443", Nodes: []Node{
		{Name: "m", Version: "1.35.4", Roles: []string{plane}, Addresses: []string{"10.0.0.1", "fd00::1"}, Created: time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC).Local()},
		{Name: "both", Roles: []string{plane, worker}}, {Name: "w", Roles: []string{worker}}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
}

func TestUnreadableAnswers(t *testing.T) {
	for i, bad := range map[int]string{0: "x", 1: `{"data": {"ClusterConfiguration": "kubernetesVersion: $(id)"}}`, 2: `{"data": {"ca.crt": "x"}}`} {
		var c Cluster
		if err := Questions[i].Read(&c, []byte(bad)); err == nil {
			t.Errorf("%s accepts %s", Questions[i].Arguments, bad)
		}
	}
	if err := Questions[1].Read(&Cluster{}, []byte(`{"metadata": {"name": "kubeadm-config"}}`)); err == nil || !strings.Contains(err.Error(), "has no ClusterConfiguration") {
		t.Errorf("without a configuration: %v", err)
	}
}
