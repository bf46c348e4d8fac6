package from

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// edits has at least one edit for each field of the spec.
var edits = map[string][]func(*v1alpha1.ProvisioningSpec){
	"Masters": {func(s *v1alpha1.ProvisioningSpec) {
		s.Masters = append(s.Masters, map[string]v1alpha1.Master{"m-2": {HostRequirements: needs{CPU: 8}}})
	}},
	"Workers": {
		func(s *v1alpha1.ProvisioningSpec) { slices.Reverse(s.Workers) },
		func(s *v1alpha1.ProvisioningSpec) { s.Workers = s.Workers[:1] },
	},
	"NodeSets": {
		func(s *v1alpha1.ProvisioningSpec) { s.NodeSets[0].Count.Standby++ },
		func(s *v1alpha1.ProvisioningSpec) { s.NodeSets[0].Count.Active++ },
		func(s *v1alpha1.ProvisioningSpec) { slices.Reverse(s.NodeSets) },
		func(s *v1alpha1.ProvisioningSpec) {
			s.NodeSets = append(s.NodeSets, v1alpha1.NodeSet{Name: "spare", Count: v1alpha1.NodeCount{Standby: 1}})
		},
	},
	"KUDPlugins":      {func(s *v1alpha1.ProvisioningSpec) { s.KUDPlugins = []string{"multus"} }},
	"PodSubnet":       {func(s *v1alpha1.ProvisioningSpec) { s.PodSubnet = "10.1.0.0/16" }},
	"OSImage":         {func(s *v1alpha1.ProvisioningSpec) { s.OSImage = &v1alpha1.OSImageSpec{Upload: "o/c/jammy.raw"} }},
	"OperatingSystem": {func(s *v1alpha1.ProvisioningSpec) { s.OperatingSystem = "ubuntu-24.04" }},
	"Access": {
		func(s *v1alpha1.ProvisioningSpec) { s.Access.Subnets = []string{"10.2.0.0/16"} },
		func(s *v1alpha1.ProvisioningSpec) { s.Access.Interface = "eth1" },
	},
	"Kubernetes": {
		func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.Version = "1.35.5" },
		func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.ServiceSubnet = "10.3.0.0/16" },
		func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.NetworkPlugin = "calico" },
	},
	"Kubespray": {
		func(s *v1alpha1.ProvisioningSpec) { s.Kubespray.Release = "v2.31.0" },
		func(s *v1alpha1.ProvisioningSpec) {
			s.Kubespray.Vars = map[string]apiextensionsv1.JSON{"x": {Raw: []byte("1")}}
		},
	},
	"SSH": {
		func(s *v1alpha1.ProvisioningSpec) { s.SSH.User = "icn" },
		func(s *v1alpha1.ProvisioningSpec) { s.SSH.Port = 2222 },
		func(s *v1alpha1.ProvisioningSpec) { s.SSH.SecretName = "other" },
	},
	"Depot": {
		func(s *v1alpha1.ProvisioningSpec) { s.Depot.URL = "https://depot:5443" },
		func(s *v1alpha1.ProvisioningSpec) { s.Depot.URL, s.Depot.Insecure = "http://depot:5000", true },
		func(s *v1alpha1.ProvisioningSpec) { s.Depot.ImageURL = "http://depot:5000" },
		func(s *v1alpha1.ProvisioningSpec) { s.Depot.Checksums = v1alpha1.ChecksumsDepot },
		func(s *v1alpha1.ProvisioningSpec) { s.Depot.Connected = ptr.To(true) },
	},
	"Timeouts":       {func(s *v1alpha1.ProvisioningSpec) { s.Timeouts.Install = &metav1.Duration{Duration: time.Hour} }},
	"DeletionPolicy": {func(s *v1alpha1.ProvisioningSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain }},
	"Paused":         {func(s *v1alpha1.ProvisioningSpec) { s.Paused = true }},
}

// The webhook must warn that BPA does not apply an edit to an installed cluster if the edit changes
// the digest, and must not warn otherwise. The webhook cannot call Digest, because package from
// imports the webhook's package. It therefore has its own list of fields.
func TestWarningAndDigestAgree(t *testing.T) {
	const text = `metadata: {namespace: site, name: edge-1, uid: uid-1}
spec:
  masters: [{m-1: {cpu: 8}}]
  workers: [{w-2: {cpu: 4}}, {w-1: {cpu: 16}}]
  nodeSets: [{name: z, count: {active: 2}}, {name: a, count: {active: 1}}]
status: {installedDigest: 'v2:sha256:1'}
`
	for field := range reflect.TypeFor[v1alpha1.ProvisioningSpec]().Fields() {
		if len(edits[field.Name]) == 0 {
			t.Errorf("field %s has no edit", field.Name)
		}
		for i, edit := range edits[field.Name] {
			old := written(t, text)
			p := old.DeepCopy()
			edit(&p.Spec)
			p.SetDefaults(context.Background())
			was, err1 := Digest(requestOf(t, old))
			is, err2 := Digest(requestOf(t, p))
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			found := p.Validate(apis.WithinUpdate(context.Background(), old))
			warned := strings.Contains(found.Error(), "does not change an installed cluster")
			if errs := found.Filter(apis.ErrorLevel); errs != nil || warned != (was != is) {
				t.Errorf("%s, edit %d: warned %t, another cluster %t; errors: %v", field.Name, i, warned, was != is, errs)
			}
		}
	}
}
