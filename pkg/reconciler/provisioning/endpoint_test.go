package provisioning

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// twoPlanes returns a fixture with an installed cluster of two control planes, master-1 on host-1 and
// master-2 on host-2. The kubeconfig names master-1.
func twoPlanes(t *testing.T) (*fixture, *fakeHosts) {
	t.Helper()
	site, nodes := fleet()
	nodes[1].Name, nodes[1].Set, nodes[1].Roles = "master-2", "", []string{contract.RoleControlPlane}
	site.all[1].Node, site.all[1].Set = "master-2", ""
	site.all, nodes = site.all[:2], nodes[:2]
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	p := edge(func(p *v1alpha1.Provisioning) {
		p.Spec.Masters = append(p.Spec.Masters, map[string]v1alpha1.Master{"master-2": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}})
		p.Spec.ReplacePolicy = v1alpha1.ReplaceNever
	})
	done := run(p, 1, ended(corev1.ConditionTrue, "Succeeded"))
	key, err := resources.MakeKubeconfigKey(p, strings.NewReader(strings.Repeat("random", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	ca, certificate := sign(t, string(key.Data[resources.KeyCSR]))
	access := resources.Access{CA: ca, Certificate: certificate, Endpoint: "https://10.0.0.1:6443"}
	secret, err := resources.MakeKubeconfigSecret(p, access, key)
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t, site, []runtime.Object{p, sshKey(), done, written(contract.InstalledName(name), contract.KeyClaimed, string(text)), key, secret}, nil)
	w.settle(t)
	return w, site
}

func (w *fixture) endpoint(t *testing.T) string {
	t.Helper()
	secret, err := w.kube.CoreV1().Secrets("site").Get(t.Context(), contract.KubeconfigName(name), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, _, err := resources.ReadKubeconfig(secret)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

// TestEndpointFollowsTheControlPlanes: the kubeconfig and the status name another control plane after
// the loss of the first one, in one reconcile. After that, nothing is written, and nothing moves back.
func TestEndpointFollowsTheControlPlanes(t *testing.T) {
	w, site := twoPlanes(t)
	if got := w.endpoint(t); got != "https://10.0.0.1:6443" {
		t.Fatalf("a whole cluster: endpoint %s", got)
	}
	w.events()
	quarantined := &site.all[0]
	quarantined.Lost, quarantined.Trouble, quarantined.Unusable = true, "in quarantine", "in quarantine"
	if err := w.visit(t, at); err != nil {
		if again, _ := controller.IsRequeueKey(err); !again {
			t.Fatal(err)
		}
	}
	if got, status := w.endpoint(t), w.stored(t).Status.APIEndpoint; got != "https://10.0.0.2:6443" || status != got {
		t.Fatalf("endpoint %s, in the status %s", got, status)
	}
	if events := w.events(); strings.Count(events, "EndpointMoved") != 1 {
		t.Errorf("events:\n%s", events)
	}
	w.settle(t) // fails if every reconcile writes
	quarantined.Lost, quarantined.Trouble, quarantined.Unusable = false, "", ""
	w.settle(t)
	if got := w.endpoint(t); got != "https://10.0.0.2:6443" {
		t.Errorf("the endpoint moved back: %s", got)
	}
	if events := w.events(); strings.Contains(events, "EndpointMoved") {
		t.Errorf("events:\n%s", events)
	}
}

// TestEndpointStaysInAStaleCache: the cache still has the old kubeconfig after the move. The Secret is
// not written again.
func TestEndpointStaysInAStaleCache(t *testing.T) {
	w, site := twoPlanes(t)
	site.all[0].Lost, site.all[0].Trouble = true, "in quarantine"
	for range 2 {
		w.kube.ClearActions()
		if err := w.visit(t, at); err != nil {
			if again, _ := controller.IsRequeueKey(err); !again {
				t.Fatal(err)
			}
		}
	}
	for _, call := range w.calls() {
		if strings.HasPrefix(call, "update secrets") {
			t.Errorf("the second reconcile writes: %s", call)
		}
	}
	if got := w.stored(t).Status.APIEndpoint; got != "https://10.0.0.2:6443" {
		t.Errorf("the status names %s", got)
	}
}
