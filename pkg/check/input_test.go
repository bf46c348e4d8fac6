package check

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestInputOfARequest(t *testing.T) {
	r := contract.Request{Spec: contract.Spec{KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", PodSubnet: "10.233.64.0/18", ServiceSubnet: "10.233.0.0/18", OperatingSystem: "debian-12", DepotURL: "https://d:5443", DepotCA: "PEM",
		Vars: map[string]json.RawMessage{"kube_proxy_mode": json.RawMessage(`"nftables"`), "kube_pods_subnet_ipv6": json.RawMessage(`"fd85::/64"`), "kube_network_plugin": json.RawMessage(`7`)}}}
	nodes := []Node{NodeOf(contract.Node{Name: "m-1", Address: "10.0.0.1", Roles: []string{contract.RoleControlPlane}, MACs: []string{"02:00:00:00:00:01"}}, true)}
	want := Input{
		Nodes:             []Node{{Name: "m-1", Address: "10.0.0.1", Roles: []string{contract.RoleControlPlane}, MACs: []string{"02:00:00:00:00:01"}, Member: true}},
		KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", ProxyMode: "nftables", OperatingSystem: "debian-12",
		PodSubnets: []string{"10.233.64.0/18", "fd85::/64"}, ServiceSubnets: []string{"10.233.0.0/18"}, Depot: Depot{URL: "https://d:5443", CA: "PEM"},
	}
	if got := InputOf(r, nodes); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	r.Vars = nil
	r.PluginVars = map[string]json.RawMessage{"kube_proxy_remove": json.RawMessage(`true`)}
	if got := InputOf(r, nil).ProxyMode; got != "" {
		t.Errorf("without kube-proxy: %q", got)
	}
	if got := InputOf(contract.Request{}, nil).ProxyMode; got != "ipvs" {
		t.Errorf("kubespray's default: %q", got)
	}
}
