package access

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestDirect: behind a load balancer, the health checks ask a control plane that is Ready, and stay with it.
func TestDirect(t *testing.T) {
	const first, second = "https://10.0.0.1:6443", "https://10.0.0.2:6443"
	plane, worker := []string{contract.RoleControlPlane}, []string{contract.RoleWorker}
	ready, notReady, unknown, lost := v1alpha1.NodeReady, v1alpha1.NodeNotReady, v1alpha1.NodeUnknown, v1alpha1.NodeLost
	node := func(address string, state v1alpha1.NodeState, roles []string) v1alpha1.NodeStatus {
		return v1alpha1.NodeStatus{Address: address, State: state, Roles: roles}
	}
	both := func(one, other v1alpha1.NodeState) []v1alpha1.NodeStatus {
		return []v1alpha1.NodeStatus{node("10.0.0.9", ready, worker), node("10.0.0.1", one, plane), node("10.0.0.2", other, plane)}
	}
	for name, tc := range map[string]struct {
		mode    v1alpha1.APIMode
		present string
		nodes   []v1alpha1.NodeStatus
		want    string
	}{
		"no load balancer":                                        {v1alpha1.APINode, "", both(ready, ready), ""},
		"an address that moves":                                   {v1alpha1.APIVIP, "", both(ready, ready), first},
		"no health checks yet":                                    {v1alpha1.APIExternal, "", both(ready, ready), first},
		"they ask another one":                                    {v1alpha1.APIExternal, second, both(ready, ready), second},
		"the asked one is lost":                                   {v1alpha1.APIExternal, first, both(lost, ready), second},
		"the asked one does not answer":                           {v1alpha1.APIExternal, first, both(unknown, unknown), ""},
		"the asked one has left":                                  {v1alpha1.APIExternal, "https://10.0.0.7:6443", both(ready, ready), first},
		"they ask the load balancer":                              {v1alpha1.APIExternal, "https://lb.example:6443", both(ready, ready), first},
		"no node is Ready without the load balancer":              {v1alpha1.APIExternal, second, both(notReady, notReady), second},
		"they have asked the load balancer, and no node is Ready": {v1alpha1.APIExternal, "https://lb.example:6443", both(notReady, notReady), ""},
		"IPv6":       {v1alpha1.APIExternal, "", []v1alpha1.NodeStatus{node("fd00::1", ready, plane)}, "https://[fd00::1]:6443"},
		"no address": {v1alpha1.APIExternal, "", []v1alpha1.NodeStatus{node("", ready, plane)}, ""},
	} {
		p := &v1alpha1.Provisioning{}
		p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: tc.mode, Address: "lb.example"}
		p.Status.Nodes = tc.nodes
		var present *stored
		if tc.present != "" {
			present = &stored{Kubeconfig: access.Kubeconfig{Server: tc.present}}
		}
		if got := direct(p, present); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := &v1alpha1.Provisioning{}
	p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIExternal, Port: 443}
	p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{"kube_apiserver_port": {Raw: []byte("7443")}}
	p.Status.Nodes = both(ready, ready)
	if got := direct(p, nil); got != "https://10.0.0.1:7443" {
		t.Errorf("with another port: %q", got)
	}
	if got := direct(&v1alpha1.Provisioning{Status: p.Status}, nil); got != "" {
		t.Errorf("without a field: %q", got)
	}
}

// TestHealthBehindALoadBalancer: the kubeconfig keeps the load balancer, and the one for health checks names a control plane,
// and another one when that is lost. Its user stays.
func TestHealthBehindALoadBalancer(t *testing.T) {
	w := newWorld(t)
	w.p.Spec.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIExternal, Address: "10.0.0.1", Port: 6443}
	for _, address := range []string{"10.0.0.2", "10.0.0.3"} {
		w.p.Status.Nodes = append(w.p.Status.Nodes, v1alpha1.NodeStatus{Address: address, State: v1alpha1.NodeReady, Roles: []string{contract.RoleControlPlane}})
	}
	w.install()
	user := ""
	for i, want := range []string{"https://10.0.0.2:6443", "https://10.0.0.3:6443"} {
		w.settle()
		w.atRest()
		if admin, health := w.admin().Server, w.health().Server; admin != "https://10.0.0.1:6443" || health != want {
			t.Errorf("the kubeconfig names %s, and the one for health checks %s, want %s", admin, health, want)
		}
		if now := w.health().name(); i > 0 && now != user {
			t.Errorf("the health checks have the new user %s", now)
		}
		user = w.health().name()
		w.p.Status.Nodes[i].State = v1alpha1.NodeLost
	}
}
