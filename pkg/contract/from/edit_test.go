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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	planned "github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// effect is what an edit does to an installed cluster.
type effect string

const (
	applied effect = "applied" // a run changes the cluster
	refused effect = "refused" // the webhook refuses the edit; if it is stored nevertheless, no run starts
	kept    effect = "kept"    // the webhook refuses the edit; if it is stored nevertheless, the cluster keeps what it has, and other edits are applied
	nothing effect = "nothing" // the cluster is the requested one
)

type edit struct {
	effect
	change func(*v1alpha1.ProvisioningSpec)
}

// edits has at least one edit for each field of the spec.
var edits = map[string][]edit{
	"Masters": {
		{applied, func(s *v1alpha1.ProvisioningSpec) {
			s.Masters = append(s.Masters, map[string]v1alpha1.Master{"m-2": {HostRequirements: needs{CPU: 8}}})
		}},
		{nothing, func(s *v1alpha1.ProvisioningSpec) {
			s.Masters[0]["m-1"] = v1alpha1.Master{HostRequirements: needs{CPU: 2}}
		}},
		{refused, func(s *v1alpha1.ProvisioningSpec) {
			s.Masters = append(s.Masters, map[string]v1alpha1.Master{"w-1": {HostRequirements: needs{CPU: 8}}})
			s.Workers = s.Workers[:1]
		}},
	},
	"Workers": {
		{nothing, func(s *v1alpha1.ProvisioningSpec) { slices.Reverse(s.Workers) }},
		{applied, func(s *v1alpha1.ProvisioningSpec) { s.Workers = s.Workers[:1] }},
	},
	"NodeSets": {
		{applied, func(s *v1alpha1.ProvisioningSpec) { s.NodeSets[0].Count.Standby++ }},
		{applied, func(s *v1alpha1.ProvisioningSpec) { s.NodeSets[0].Count.Active++ }},
		{applied, func(s *v1alpha1.ProvisioningSpec) { s.NodeSets[0].Count.Active-- }},
		{applied, func(s *v1alpha1.ProvisioningSpec) { s.NodeSets = s.NodeSets[:1] }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { slices.Reverse(s.NodeSets) }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { // another reconciler sets them, without a run
			s.NodeSets[0].Labels, s.NodeSets[0].Taints = map[string]string{"pool": "a"}, []v1alpha1.NodeTaint{{Key: "a", Effect: "NoSchedule"}}
		}},
		{applied, func(s *v1alpha1.ProvisioningSpec) {
			s.NodeSets[0].Vars = map[string]apiextensionsv1.JSON{"x": {Raw: []byte("1")}}
		}},
		{applied, func(s *v1alpha1.ProvisioningSpec) {
			s.NodeSets = append(s.NodeSets, v1alpha1.NodeSet{Name: "spare", Count: v1alpha1.NodeCount{Standby: 1}})
		}},
		{refused, func(s *v1alpha1.ProvisioningSpec) { s.NodeSets[0].Role = v1alpha1.RoleControlPlane }},
	},
	"KUDPlugins": { // package change only gives the nodes their plugins' variables; package plan starts the run for the plugins
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.KUDPlugins = []string{"multus"} }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.KUDPlugins = []string{"cpu-manager"} }},
	},
	"Plugins": {{nothing, func(s *v1alpha1.ProvisioningSpec) {
		s.KUDPlugins, s.Plugins = []string{"site-plugin"}, map[string]v1alpha1.PluginSpec{"site-plugin": {Version: "v1"}}
	}}},
	"PodSubnet":       {{refused, func(s *v1alpha1.ProvisioningSpec) { s.PodSubnet = "10.1.0.0/16" }}},
	"OSImage":         {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.OSImage = &v1alpha1.OSImageSpec{Upload: "o/c/jammy.raw"} }}},
	"OperatingSystem": {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.OperatingSystem = "ubuntu-24.04" }}},
	"Access": {
		{refused, func(s *v1alpha1.ProvisioningSpec) { s.Access.Subnets = []string{"10.2.0.0/16"} }},
		{refused, func(s *v1alpha1.ProvisioningSpec) { s.Access.Interface = "eth1" }},
	},
	"Kubernetes": {
		{applied, func(s *v1alpha1.ProvisioningSpec) {
			s.Kubernetes.Version, s.Depot.Checksums = "1.35.5", v1alpha1.ChecksumsDepot
		}},
		{kept, func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.Version = "1.35.5" }},
		{kept, func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.Version = "1.34.3" }},
		{refused, func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.ServiceSubnet = "10.3.0.0/16" }},
		{refused, func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.NetworkPlugin = "calico" }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APINode} }},
		{refused, func(s *v1alpha1.ProvisioningSpec) {
			s.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIExternal, Address: "api.example"}
		}},
		{refused, func(s *v1alpha1.ProvisioningSpec) {
			s.Kubernetes.API = &v1alpha1.APISpec{Mode: v1alpha1.APIVIP, Address: "10.60.0.5"}
		}},
		{refused, func(s *v1alpha1.ProvisioningSpec) {
			s.Kubernetes.API = &v1alpha1.APISpec{Names: []string{"api.example"}}
		}},
	},
	"Kubespray": {
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Kubespray.Release = "v2.31.0" }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Kubespray.Acceleration.Disable = []string{"All"} }},
		{applied, func(s *v1alpha1.ProvisioningSpec) { s.Kubespray.Release = "v2.32.0" }},
		{kept, func(s *v1alpha1.ProvisioningSpec) { s.Kubespray.Release = "v2.30.0" }},
		{kept, func(s *v1alpha1.ProvisioningSpec) {
			s.Kubespray.Vars = map[string]apiextensionsv1.JSON{"dns_domain": {Raw: []byte(`"x"`)}}
		}},
		{applied, func(s *v1alpha1.ProvisioningSpec) {
			s.Kubespray.Vars = map[string]apiextensionsv1.JSON{"x": {Raw: []byte("1")}}
		}},
	},
	"SSH": {
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.SSH.User = "icn" }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.SSH.Port = 2222 }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.SSH.SecretName = "other" }},
	},
	"Checks": {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Checks.Disable = []string{"swap"} }}},
	"Depot": {
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Depot.URL = "https://depot:5443" }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Depot.URL, s.Depot.Insecure = "http://depot:5000", true }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Depot.ImageURL = "http://depot:5000" }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Depot.Checksums = v1alpha1.ChecksumsDepot }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Depot.Connected = ptr.To(true) }},
	},
	"Timeouts": {
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Timeouts.Install = &metav1.Duration{Duration: time.Hour} }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Timeouts.Drain = &metav1.Duration{Duration: time.Hour} }},
	},
	"Upgrade": {
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Upgrade.MaxUnavailable = ptr.To(intstr.FromString("10%")) }},
		{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Upgrade.PauseAfterControlPlane = true }},
	},
	"HostNamespace":  {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.HostNamespace = "site" }}}, // the default; any other value is refused, also before an installation
	"DeletionPolicy": {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain }}},
	"ReplacePolicy":  {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.ReplacePolicy = v1alpha1.ReplaceAny }}},
	"Backup":         {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Backup = &v1alpha1.BackupPolicy{Schedule: "@daily"} }}},
	"Priority":       {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Priority = 7 }}},
	"Paused":         {{nothing, func(s *v1alpha1.ProvisioningSpec) { s.Paused = true }}},
}

// The webhook, which sees two specs, and package change, which sees the cluster and a request, must
// agree about what an edit does to an installed cluster. The webhook cannot call package change,
// because package from imports the webhook's package.
func TestEditsOfAnInstalledCluster(t *testing.T) {
	const text = `metadata: {namespace: site, name: edge-1, uid: uid-1}
spec:
  masters: [{m-1: {cpu: 8}}]
  workers: [{w-2: {cpu: 4}}, {w-1: {cpu: 16}}]
  nodeSets: [{name: z, count: {active: 2}}, {name: a, count: {active: 1}}]
status: {installedDigest: 'v3:sha256:1'}
`
	for field := range reflect.TypeFor[v1alpha1.ProvisioningSpec]().Fields() {
		if len(edits[field.Name]) == 0 {
			t.Errorf("field %s has no edit", field.Name)
		}
		for i, edit := range edits[field.Name] {
			check(t, field.Name, i, written(t, text), edit)
		}
	}
}

// If a spec has no workers, its control plane nodes are also workers, and stay so when workers are
// added.
func TestFirstWorkersOfAnInstalledCluster(t *testing.T) {
	const text = `metadata: {namespace: site, name: edge-1, uid: uid-1}
spec:
  masters: [{m-1: {cpu: 8}}]
  nodeSets: [{name: cp, role: control-plane, count: {active: 2}}]
status: {installedDigest: 'v3:sha256:1'}
`
	check(t, "NodeSets", 0, written(t, text), edit{applied, func(s *v1alpha1.ProvisioningSpec) {
		s.NodeSets = append(s.NodeSets, v1alpha1.NodeSet{Name: "w", Count: v1alpha1.NodeCount{Active: 1}})
	}})
}

func check(t *testing.T, field string, i int, old *v1alpha1.Provisioning, edit edit) {
	t.Helper()
	p := old.DeepCopy()
	edit.change(&p.Spec)
	p.SetDefaults(context.Background())
	found := admission.CheckProvisioning(apis.WithinUpdate(context.Background(), old), p)
	errs, warnings := found.Filter(apis.ErrorLevel), found.Filter(apis.WarningLevel)
	if (errs != nil) != (edit.effect == refused || edit.effect == kept) {
		t.Errorf("%s, edit %d, %s: the webhook has the errors %v and the warnings %v", field, i, edit.effect, errs, warnings)
	}
	state := planned.State{Installed: contract.Installed{Request: requestOf(t, old).Spec, Nodes: nodesOf(requestOf(t, old))}, Wanted: requestOf(t, p)}
	got := nothing
	if _, changes := planned.Next(state); changes {
		got = applied
	}
	for _, r := range planned.Refused(state) {
		if r.Advice != "" && !strings.Contains(errs.Error(), r.Text) {
			t.Errorf("%s, edit %d: package change says %q, and the webhook %v", field, i, r.Text, errs)
		}
		if r.Blocks {
			got = refused
		} else if got != refused {
			got = kept
		}
	}
	if got != edit.effect {
		t.Errorf("%s, edit %d: package change says %s, want %s", field, i, got, edit.effect)
	}
	was, err1 := Digest(requestOf(t, old))
	is, err2 := Digest(requestOf(t, p))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if was == is && (edit.effect == refused || edit.effect == kept) {
		t.Errorf("%s, edit %d: the edit is %s, but the digest stays", field, i, edit.effect)
	}
}

// nodesOf returns the nodes of a cluster that is installed from the request.
func nodesOf(r contract.Request) []contract.Node {
	var nodes []contract.Node
	for _, slot := range r.Slots {
		nodes = append(nodes, contract.Node{Name: slot.Name, Roles: slot.Roles})
	}
	for _, set := range r.Sets {
		for range set.Active {
			nodes = append(nodes, contract.Node{Name: set.Name + "-n", Set: set.Name, Roles: set.Roles})
		}
	}
	return nodes
}
