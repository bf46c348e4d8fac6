package from

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

type masters = []map[string]v1alpha1.Master
type workers = []map[string]v1alpha1.Worker
type needs = v1alpha1.HostRequirements

func mac(s string) *v1alpha1.MAC { m := v1alpha1.MAC(s); return &m }

func provisioning(changes ...func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
	p := &v1alpha1.Provisioning{
		ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1", UID: "uid-1"},
		Spec:       v1alpha1.ProvisioningSpec{Masters: masters{{"m1": {HostRequirements: needs{CPU: 8}}}}},
	}
	for _, change := range changes {
		change(p)
	}
	p.SetDefaults(context.Background())
	return p
}

func TestSlots(t *testing.T) {
	both := []string{contract.RoleControlPlane, contract.RoleWorker}
	for name, test := range map[string]struct {
		masters masters
		workers workers
		want    []contract.Slot
	}{
		"without workers every master is one": {
			masters: masters{{"m1": {HostRequirements: needs{CPU: 8, Memory: "16Gi"}}}, {"m2": {}}},
			want:    []contract.Slot{{Name: "m1", Roles: both, Needs: contract.Needs{CPU: 8, Memory: 16 << 30}}, {Name: "m2", Roles: both}},
		},
		"masters first, MAC addresses in one notation": {
			masters: masters{{"m1": {MACAddress: mac("00-C6-14-04-61-B2")}}},
			workers: workers{{"w1": {HostRequirements: needs{CPU: 16, SRIOV: true, QAT: true}}}},
			want: []contract.Slot{
				{Name: "m1", Roles: []string{contract.RoleControlPlane}, MAC: "00:c6:14:04:61:b2"},
				{Name: "w1", Roles: []string{contract.RoleWorker}, Needs: contract.Needs{CPU: 16, SRIOV: true, QAT: true}},
			},
		},
		"a worker with a master's name is that master in both roles, with the greater need": {
			masters: masters{{"m1": {MACAddress: mac("00:c6:14:04:61:b2"), HostRequirements: needs{CPU: 8}}}},
			workers: workers{{"m1": {HostRequirements: needs{CPU: 16, Memory: "1Gi", SRIOV: true}}}},
			want:    []contract.Slot{{Name: "m1", Roles: both, MAC: "00:c6:14:04:61:b2", Needs: contract.Needs{CPU: 16, Memory: 1 << 30, SRIOV: true}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Provisioning(provisioning(func(p *v1alpha1.Provisioning) {
				p.Spec.Masters, p.Spec.Workers = test.masters, test.workers
			}), settings.Depot{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Slots); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) {
		p.Labels = map[string]string{"cluster": "cluster-7"}
		p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{"x": {Raw: []byte(`{"y":[1]}`)}}
		p.Spec.Kubespray.Release = "v2.31.0"
	})
	want := contract.Request{
		Spec: contract.Spec{
			Provisioning: "edge-1", Namespace: "site", UID: "uid-1", Cluster: "cluster-7",
			Slots:             []contract.Slot{{Name: "m1", Roles: []string{"control-plane", "worker"}, Needs: contract.Needs{CPU: 8}}},
			KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", PodSubnet: "10.233.64.0/18", ServiceSubnet: "10.233.0.0/18",
			Release: "v2.31.0",
			SSHUser: "root", SSHPort: 22, DepotURL: "http://site:5000", DepotOfSite: true, Vars: map[string]json.RawMessage{"x": json.RawMessage(`{"y":[1]}`)},
		},
	}
	got, err := Provisioning(p, settings.Depot{URL: "http://site:5000"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	p.Spec.Depot.URL = "http://own:5000"
	if got, _ := Provisioning(p, settings.Depot{URL: "http://site:5000"}); got.DepotURL != "http://own:5000" {
		t.Errorf("depot %s: want the spec's own", got.DepotURL)
	}
	p.Spec.Depot.Connected = ptr.To(false)
	if got, _ := Provisioning(p, settings.Depot{URL: "https://site:5443", CA: "the site's", Connected: true}); got.DepotCA != "" || got.Connected {
		t.Errorf("the depot of the spec has CA %q and connected %t of the site's", got.DepotCA, got.Connected)
	}
	p.Spec.Depot.URL = ""
	if got, _ := Provisioning(p, settings.Depot{URL: "https://site:5443", CA: "the site's", Connected: true}); got.DepotCA != "the site's" || got.DepotURL == "" || got.Connected {
		t.Errorf("depot %s, CA %q, connected %t: want the site's, closed", got.DepotURL, got.DepotCA, got.Connected)
	}
	p.Spec.Masters = masters{{"m1": {HostRequirements: needs{Memory: "much"}}}}
	if _, err := Provisioning(p, settings.Depot{}); err == nil || !strings.Contains(err.Error(), "m1") {
		t.Errorf("error %v: want one that names m1", err)
	}
}

// TestDigests checks which digests a change of the Provisioning changes. A change that defines
// another cluster changes both the digest of the cluster and that of the inputs. A change that only
// affects runs changes only the digest of the inputs. Any other change changes neither.
func TestDigests(t *testing.T) {
	digests := func(p *v1alpha1.Provisioning, depot string) (string, string) {
		t.Helper()
		request, err := Provisioning(p, settings.Depot{URL: depot})
		if err != nil {
			t.Fatal(err)
		}
		digest, err1 := Digest(request)
		inputs, err2 := Inputs(p, request)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		return digest, inputs
	}
	digest, inputs := digests(provisioning(), "")
	for name, test := range map[string]struct {
		change                func(*v1alpha1.Provisioning)
		depot                 string
		sameDigest, sameInput bool
	}{
		"nothing":       {func(*v1alpha1.Provisioning) {}, "", true, true},
		"paused":        {func(p *v1alpha1.Provisioning) { p.Spec.Paused = true }, "", true, true},
		"plugins":       {func(p *v1alpha1.Provisioning) { p.Spec.KUDPlugins = []string{"multus"} }, "", true, false},
		"a larger host": {func(p *v1alpha1.Provisioning) { p.Spec.Masters = masters{{"m1": {HostRequirements: needs{CPU: 9}}}} }, "", false, false},
		"a version":     {func(p *v1alpha1.Provisioning) { p.Spec.Kubernetes.Version = "1.35.5" }, "", false, false},
		"a release":     {func(p *v1alpha1.Provisioning) { p.Spec.Kubespray.Release = "v2.31.0" }, "", false, false},
		"acceleration":  {func(p *v1alpha1.Provisioning) { p.Spec.Kubespray.Acceleration.Disable = []string{"InProcess"} }, "", true, false},
		"checks":        {func(p *v1alpha1.Provisioning) { p.Spec.Checks.Disable = []string{"swap"} }, "", true, false},
		"the key":       {func(p *v1alpha1.Provisioning) { p.Spec.SSH.SecretName = "other" }, "", true, false},
		"the timeout":   {func(p *v1alpha1.Provisioning) { p.Spec.Timeouts.Install = &metav1.Duration{Duration: time.Hour} }, "", true, false},
		"the depot":     {func(*v1alpha1.Provisioning) {}, "http://moved:5000", true, false},
	} {
		d, i := digests(provisioning(test.change), test.depot)
		if (d == digest) != test.sameDigest || (i == inputs) != test.sameInput {
			t.Errorf("%s: same digest %t, same inputs %t; want %t, %t", name, d == digest, i == inputs, test.sameDigest, test.sameInput)
		}
	}
}
