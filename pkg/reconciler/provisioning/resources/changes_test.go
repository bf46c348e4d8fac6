package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestChanges: the message about an edited spec names the changed fields that matter, but no value
// below spec.kubespray.vars.
func TestChanges(t *testing.T) {
	vars := func(password string) map[string]apiextensionsv1.JSON {
		return map[string]apiextensionsv1.JSON{"registry_password": {Raw: []byte(`"` + password + `"`)}}
	}
	was := provisioning(func(p *v1alpha1.Provisioning) {
		p.Spec.Kubespray.Vars = vars("old")
		p.Spec.Masters = []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}}}
		p.Spec.Workers = nil
	})
	for name, test := range map[string]struct {
		edit func(*v1alpha1.ProvisioningSpec)
		want []string
	}{
		"nothing":                          {func(*v1alpha1.ProvisioningSpec) {}, nil},
		"a pause, which is obeyed at once": {func(s *v1alpha1.ProvisioningSpec) { s.Paused = true }, nil},
		"a subnet": {func(s *v1alpha1.ProvisioningSpec) { s.PodSubnet = "10.9.0.0/16" },
			[]string{"spec.PodSubnet: 10.233.64.0/18 -> 10.9.0.0/16"}},
		"what makes another cluster, and what does not": {func(s *v1alpha1.ProvisioningSpec) { s.PodSubnet, s.SSH.User = "10.9.0.0/16", "admin" },
			[]string{"spec.PodSubnet: 10.233.64.0/18 -> 10.9.0.0/16"}},
		"only what makes none": {func(s *v1alpha1.ProvisioningSpec) { s.SSH.User = "admin" }, []string{"spec.ssh.user: root -> admin"}},
		"a password":           {func(s *v1alpha1.ProvisioningSpec) { s.Kubespray.Vars = vars("new") }, []string{"spec.kubespray.vars.registry_password"}},
		"a requirement": {func(s *v1alpha1.ProvisioningSpec) {
			s.Masters = []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 16}}}}
		}, []string{"spec.masters[0].master-1.cpu: 8 -> 16"}},
		"a worker more": {func(s *v1alpha1.ProvisioningSpec) { s.Workers = []map[string]v1alpha1.Worker{{"worker-1": {}}} },
			[]string{`spec.workers: (not set) -> [{"worker-1":{}}]`}},
	} {
		is := was.DeepCopy()
		test.edit(&is.Spec)
		if diff := cmp.Diff(test.want, Changes(was, is)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
