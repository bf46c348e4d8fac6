package session

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// In a cluster with several control planes, each is asked through its own API server. Nothing that is
// not an address gets into the command.
func TestKubectlOn(t *testing.T) {
	plane := func(uid, address string) contract.Node {
		return contract.Node{Name: uid, HostUID: uid, Address: address, Roles: []string{contract.RoleControlPlane}}
	}
	first, second, six := plane("a", "10.0.0.1"), plane("b", "10.0.0.2"), plane("c", "fd00::3")
	const kubectl = `env PATH="$PATH:/usr/local/bin:/opt/bin" kubectl --kubeconfig /etc/kubernetes/admin.conf `
	for name, tc := range map[string]struct {
		in   Input
		at   contract.Node
		want string
	}{
		"the only one":            {Input{Nodes: []contract.Node{first}}, first, kubectl},
		"one of two":              {Input{Nodes: []contract.Node{first, second}}, second, kubectl + "--server https://10.0.0.2:6443 "},
		"the other one is lost":   {Input{Nodes: []contract.Node{second}, Request: contract.Request{Record: contract.Record{Members: []contract.Node{first, second}}}}, second, kubectl + "--server https://10.0.0.2:6443 "},
		"another port":            {Input{Nodes: []contract.Node{first, second}, GroupVars: []byte(`{"kube_apiserver_port": 7443}`)}, first, kubectl + "--server https://10.0.0.1:7443 "},
		"behind a load balancer":  {Input{Nodes: []contract.Node{first}, GroupVars: []byte(`{"loadbalancer_apiserver": {"address": "10.0.0.9", "port": 8443}}`)}, first, kubectl + "--server https://10.0.0.1:6443 "},
		"no load balancer":        {Input{Nodes: []contract.Node{first}, GroupVars: []byte(`{"loadbalancer_apiserver": null}`)}, first, kubectl},
		"IPv6":                    {Input{Nodes: []contract.Node{first, six}}, six, kubectl + "--server https://[fd00::3]:6443 "},
		"no IP address":           {Input{Nodes: []contract.Node{first, second}}, plane("b", "10.0.0.2; reboot"), kubectl},
		"not known which machine": {Input{Nodes: []contract.Node{first, second}}, contract.Node{}, kubectl},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.in.KubectlOn(tc.at); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if _, server, named := strings.Cut(strings.TrimSpace(tc.want), "--server "); tc.in.ServerOf(tc.at) != server || named != (server != "") {
				t.Errorf("client-go calls %q, and kubectl %q", tc.in.ServerOf(tc.at), server)
			}
		})
	}
}
