package inventory

import (
	"encoding/json"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// The webhook rejects everything that the renderer rejects, so the user sees the error at kubectl
// apply and not in a failed run.
func TestTheWebhookRejectsWhatTheRendererRejects(t *testing.T) {
	odd := append([]string{"", "True", "root", "a b", "a@b", "ansible_user", "ansible_python_interpreter"}, append(reserved, literals...)...)
	for c := rune(1); c < 0x100; c++ {
		odd = append(odd, "a"+string(c)+"b")
	}
	for _, name := range connection {
		odd = append(odd, name, name+"x")
	}
	for _, text := range odd {
		for field, p := range map[string]*v1alpha1.Provisioning{
			"name": {Spec: v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{text: {HostRequirements: v1alpha1.HostRequirements{CPU: 1}}}}}},
			"user": {Spec: v1alpha1.ProvisioningSpec{SSH: v1alpha1.SSHSpec{User: text}}},
			"host": {Spec: v1alpha1.ProvisioningSpec{Depot: v1alpha1.DepotSpec{URL: "http://" + text + ":5000"}}},
			"path": {Spec: v1alpha1.ProvisioningSpec{Depot: v1alpha1.DepotSpec{URL: "http://10.60.0.1:5000/" + text}}},
			"api":  {Spec: v1alpha1.ProvisioningSpec{Kubernetes: v1alpha1.KubernetesSpec{API: &v1alpha1.APISpec{Mode: v1alpha1.APIExternal, Address: text, Names: []string{text}}}}},
			"var":  {Spec: v1alpha1.ProvisioningSpec{Kubespray: v1alpha1.KubespraySpec{Vars: map[string]apiextensionsv1.JSON{text: {Raw: []byte("1")}}}}},
		} {
			t.Run(fmt.Sprintf("%s %q", field, text), func(t *testing.T) { agree(t, p) })
		}
	}
}

// agree fails if the webhook accepts a Provisioning that the renderer rejects.
func agree(t *testing.T, p *v1alpha1.Provisioning) {
	p.ObjectMeta = metav1.ObjectMeta{Namespace: "site", Name: "edge-1"}
	if len(p.Spec.Masters) == 0 {
		p.Spec.Masters = []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 1}}}}
	}
	p.SetDefaults(t.Context())
	if admission.CheckProvisioning(t.Context(), p).Filter(apis.ErrorLevel) != nil {
		return
	}
	r := request(func(r *contract.Request) {
		r.SSHUser, r.DepotURL, r.Vars = p.Spec.SSH.User, p.Spec.Depot.URL, map[string]json.RawMessage{}
		if api := p.Spec.Kubernetes.API; api != nil {
			r.API = &contract.API{Address: api.Address, Port: int(api.Port), Names: api.Names}
		}
		for name, value := range p.Spec.Kubespray.Vars {
			r.Vars[name] = value.Raw
		}
	})
	for name := range p.Spec.Masters[0] {
		if _, err := Render(r, []contract.Node{master(name, "172.31.255.1")}); err != nil {
			t.Errorf("the webhook accepts what the renderer rejects: %v", err)
		}
	}
}
