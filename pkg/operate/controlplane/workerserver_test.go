package controlplane_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// workersUse lets the workers use the API server at an address, without a proxy. kubeProxy: the cluster
// has kube-proxy.
func workersUse(p *kubespraytest.Planes, t *testing.T, address string, kubeProxy bool, vars map[string]any) {
	inner := p.Living.Commands
	p.Living.Commands = func(command string, stdout, stderr io.Writer) (int, bool) {
		switch {
		case strings.Contains(command, "get configmap kube-proxy "):
			if kubeProxy {
				fmt.Fprintf(stdout, "clusters:\n- cluster:\n    server: https://%s:6443\n", address)
			}
			return 0, true
		case strings.Contains(command, "get configmap cluster-info --namespace kube-public --ignore"):
			fmt.Fprintf(stdout, "clusters:\n- cluster:\n    server: https://%s:6443\n", address)
			return 0, true
		}
		return inner(command, stdout, stderr)
	}
	p.In.Request.Vars = map[string]json.RawMessage{}
	for name, value := range vars {
		p.In.Request.Vars[name] = kubespraytest.JSON(t, value)
	}
	p.In.GroupVars = kubespraytest.JSON(t, vars)
}

// Without a proxy, a control plane whose API server all workers use does not leave.
func TestRemovalThatWouldCutOffTheWorkers(t *testing.T) {
	for name, tc := range map[string]struct {
		leaves    string
		kubeProxy bool
		vars      map[string]any
		refused   bool
	}{
		"it has the API server of the workers": {"master-1", true, map[string]any{"loadbalancer_apiserver_localhost": false}, true},
		"the same, and there is no kube-proxy": {"master-1", false, map[string]any{"loadbalancer_apiserver_localhost": false}, true},
		"another one leaves":                   {"master-3", true, map[string]any{"loadbalancer_apiserver_localhost": false}, false},
		"the site has a load balancer":         {"master-1", true, map[string]any{"loadbalancer_apiserver": map[string]any{"address": "10.0.0.9", "port": 6443}}, false},
		"each worker has a proxy":              {"master-1", true, map[string]any{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := kubespraytest.NewLeaving(t, true, 3, tc.leaves)
			workersUse(p, t, "10.60.0.1", tc.kubeProxy, tc.vars)
			_, err := p.Run()
			if !tc.refused {
				if err != nil {
					t.Errorf("%v\n%s", err, &p.Log)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			if f := task.FailureOf(err); f.Reason != contract.ReasonInvalidRequest || f.Host != "master-1" || !strings.Contains(f.Message, "/etc/kubernetes/kubelet.conf") {
				t.Errorf("failure %+v", f)
			}
			p.ExpectDid()
		})
	}
}

// The replacement of a lost control plane is refused too, unless the new machine has its address.
func TestReplacementThatWouldCutOffTheWorkers(t *testing.T) {
	p := kubespraytest.NewReplacedPlane(t, true)
	workersUse(p, t, "10.60.0.1", true, map[string]any{"loadbalancer_apiserver_localhost": false})
	_, err := p.Run()
	if err == nil || task.FailureOf(err).Host != "master-1" || len(p.ChangesOnly()) > 0 {
		t.Errorf("%v, after %v", err, p.Did)
	}
	workersUse(p, t, "10.60.0.5", true, map[string]any{"loadbalancer_apiserver_localhost": false})
	if _, err := p.Run(); err != nil {
		t.Errorf("%v\n%s", err, &p.Log)
	}
}
