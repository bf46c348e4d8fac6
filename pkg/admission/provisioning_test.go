package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

const pinned = "- master-1: {mac-address: '00:c6:14:04:61:b2'}"

// provisioning parses a spec as a user writes it, and applies the defaults as the webhook does.
func provisioning(t *testing.T, spec string) *v1alpha1.Provisioning {
	t.Helper()
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatalf("the test's own YAML: %v", err)
	}
	p.SetDefaults(context.Background())
	return p
}

// findings returns the errors and the warnings in the format that kubectl shows.
func findings(ctx context.Context, p *v1alpha1.Provisioning) (errs, warnings string) {
	all := CheckProvisioning(ctx, p)
	if e := all.Filter(apis.ErrorLevel); e != nil {
		errs = e.Error()
	}
	if w := all.Filter(apis.WarningLevel); w != nil {
		warnings = w.Error()
	}
	return errs, warnings
}

type rule struct {
	name, spec, want string
}

func checkRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			got, _ := findings(context.Background(), provisioning(t, r.spec))
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// manyMasters returns the masters of a spec with n nodes.
func manyMasters(n int) string {
	var b strings.Builder
	b.WriteString("masters:\n")
	for i := range n {
		fmt.Fprintf(&b, "- m%d: {cpu: 1}\n", i)
	}
	return b.String()
}

func TestAccepted(t *testing.T) {
	for name, spec := range map[string]string{
		"pinned":                             "masters: [" + pinned[2:] + "]",
		"found by what it needs":             "masters: [{m: {cpu: 8, memory: 16Gi}}]",
		"memory in bytes":                    "masters: [{m: {memory: '17179869184'}}]",
		"memory in decimals":                 "masters: [{m: {memory: 0.5Gi}}]",
		"MAC with dashes":                    "masters: [{m: {mac-address: 00-C6-14-04-61-B2}}]",
		"worker asks for hardware only":      "masters: [{m: {cpu: 1}}]\nworkers: [{w: {sriov: true}}]",
		"master again, same MAC":             "masters: [{m: {mac-address: '00:c6:14:04:61:b2'}}]\nworkers: [{m: {mac-address: '00-C6-14-04-61-B2'}}]",
		"master again, empty MAC":            "masters: [{m: {mac-address: '00:c6:14:04:61:b2'}}]\nworkers: [{m: {mac-address: ''}}]",
		"master again, null":                 "masters: [{m: {mac-address: '00:c6:14:04:61:b2'}}]\nworkers: [{m: null}]",
		"master bare, worker says it":        "masters: [{m: {}}]\nworkers: [{m: {cpu: 4}}]",
		"64 nodes in the default subnet":     manyMasters(64) + "PodSubnet: 10.233.64.0/18",
		"smaller pieces, more nodes":         manyMasters(65) + "kubespray: {vars: {kube_network_node_prefix: 25}}",
		"calico cuts its own pieces":         manyMasters(65) + "kubernetes: {networkPlugin: calico}",
		"both families":                      "masters: [{m: {cpu: 1}}]\naccess: {subnets: [10.60.0.0/24, 'fd00::/64']}\nPodSubnet: '10.244.0.0/16,fd00:1::/56'",
		"release candidate":                  "masters: [{m: {cpu: 1}}]\nkubernetes: {version: v1.36.0-rc.1}",
		"variables of any shape":             "masters: [{m: {cpu: 1}}]\nkubespray: {vars: {a: 1, b: [x], c: {d: e}, f: null}}",
		"depot with a path and a last slash": "masters: [{m: {cpu: 1}}]\ndepot: {url: 'https://depot.site-1.example:8443/edge/'}",
		"depot without TLS that is accepted": "masters: [{m: {cpu: 1}}]\ndepot: {url: 'http://depot:5000', insecure: true}",
		"images without TLS":                 "masters: [{m: {cpu: 1}}]\ndepot: {url: 'https://depot:5443', imageURL: 'http://depot:5000'}",
		"depot by IPv6":                      "masters: [{m: {cpu: 1}}]\ndepot: {url: 'https://[fd00::1]:5443'}",
	} {
		t.Run(name, func(t *testing.T) {
			p := provisioning(t, spec)
			if got, _ := findings(context.Background(), p); got != "" {
				t.Errorf("refused: %s", got)
			}
			if _, err := p.Spec.Slots(); err != nil {
				t.Errorf("Validate passed, yet there are no slots: %v", err)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	for _, r := range []struct{ name, cluster, want string }{
		{"edge-1", "c1", ""},
		{strings.Repeat("a", 40), "c1", ""},
		{strings.Repeat("a", 41), "c1", "a name of 41 characters is too long: metadata.name\n" +
			"use a name of at most 40 characters: the names of Secrets and runs contain it"},
		{"edge.1", "c1", `"edge.1" is not a DNS label: metadata.name` + "\n" + labelRule},
		{"edge-1", "C 1", `"C 1" is not a DNS label: metadata.labels.cluster` + "\n" + labelRule},
		{"edge-1", "", `"" is not a DNS label: metadata.labels.cluster` + "\n" + labelRule},
	} {
		p := provisioning(t, "masters: [{m: {cpu: 1}}]")
		p.Name, p.Labels = r.name, map[string]string{"cluster": r.cluster}
		got, _ := findings(context.Background(), p)
		if diff := cmp.Diff(r.want, got); diff != "" {
			t.Errorf("name %q cluster %q (-want +got):\n%s", r.name, r.cluster, diff)
		}
	}
}

func TestEveryFindingAtOnce(t *testing.T) {
	got, _ := findings(context.Background(), provisioning(t, "masters: [{m: {cpu: -1, memory: lots}}]\nssh: {port: 99999}"))
	want := "\"lots\" is not a quantity: spec.masters[0].m.memory\nwrite a quantity such as 16Gi, or leave it out\n" +
		"-1 is negative: spec.masters[0].m.cpu\nwrite the minimum number of CPU threads, such as 4, or leave it out\n" +
		"99999 is not a port number: spec.ssh.port\nwrite a number from 1 to 65535; the default is 22"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	for _, r := range []rule{
		{"odd", manyMasters(3), ""},
		{"even", manyMasters(2), "2 masters tolerate no more failures than 1, because etcd needs a majority of them: add one or remove one: spec.masters"},
	} {
		t.Run(r.name, func(t *testing.T) {
			errs, got := findings(context.Background(), provisioning(t, r.spec))
			if errs != "" {
				t.Fatalf("a warning refused it: %s", errs)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got, "\n") {
				t.Errorf("a warning travels in a header and must be one line: %q", got)
			}
		})
	}
}

// withStandby returns a copy of the cluster with a node set that has this number of standby hosts.
func withStandby(p *v1alpha1.Provisioning, standby int32) *v1alpha1.Provisioning {
	p = p.DeepCopy()
	p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "s", Role: v1alpha1.RoleWorker, Count: v1alpha1.NodeCount{Active: 1, Standby: standby}}}
	return p
}

func TestUpdates(t *testing.T) {
	bad := provisioning(t, "masters: [{m: {cpu: -1}}]")
	good := provisioning(t, "masters: [{m: {cpu: 1}}]")
	installed := good.DeepCopy()
	installed.Status.InstalledDigest = "sha256:1"
	changed := provisioning(t, "masters: [{m: {cpu: 2}}]")
	paused := good.DeepCopy()
	paused.Spec.Paused = true
	deleting := bad.DeepCopy()
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}

	const negative = "-1 is negative: spec.masters[0].m.cpu\nwrite the minimum number of CPU threads, such as 4, or leave it out"
	for _, r := range []struct {
		name       string
		ctx        context.Context
		obj        *v1alpha1.Provisioning
		want, warn string
	}{
		{"spec turns bad", apis.WithinUpdate(context.Background(), good), bad, negative, ""},
		{"spec was bad and stays", apis.WithinUpdate(context.Background(), bad.DeepCopy()), bad, "", ""},
		{"bad one loses its finalizer", apis.WithinUpdate(context.Background(), good), deleting, "", ""},
		{"status alone", apis.WithinSubResourceUpdate(context.Background(), good, "status"), bad, "", ""},
		{"installed cluster changes", apis.WithinUpdate(context.Background(), installed), changed, "", ""},
		{"installed cluster is paused", apis.WithinUpdate(context.Background(), installed), paused, "", ""},
		{"installed cluster gets a standby", apis.WithinUpdate(context.Background(), withStandby(installed, 1)), withStandby(installed, 2), "", ""},
		{"installed cluster grows", apis.WithinUpdate(context.Background(), installed), withStandby(installed, 1), "", ""},
		{"cluster changes before it is installed", apis.WithinUpdate(context.Background(), good), changed, "", ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			errs, warn := findings(r.ctx, r.obj)
			if diff := cmp.Diff([]string{r.want, r.warn}, []string{errs, warn}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRatchet changes an object that was stored before some rules existed. Every field can be
// changed, except that a field that breaks such a rule must not get another invalid value.
func TestRatchet(t *testing.T) {
	const stored = "masters: [{m: {cpu: 1}}]\nworkers: [{w: {memory: lots}}]\ndepot: {url: 'http://depot:5000'}\nssh: {port: 99999}\n"
	const plain = `is plain HTTP: anyone on the network path can change what is installed on the nodes: spec.depot.url`
	old := provisioning(t, stored)
	for name, test := range map[string]struct {
		change func(*v1alpha1.Provisioning)
		want   []string // parts of the errors; none: accepted
	}{
		"annotated": {func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{"a": "b"} }, nil},
		"labelled":  {func(p *v1alpha1.Provisioning) { p.Labels["team"] = "north" }, nil},
		"paused":    {func(p *v1alpha1.Provisioning) { p.Spec.Paused = true }, nil},
		"a master more at the end": {func(p *v1alpha1.Provisioning) {
			p.Spec.Masters = append(p.Spec.Masters, map[string]v1alpha1.Master{"n": {HostRequirements: v1alpha1.HostRequirements{CPU: 1}}})
		}, nil},
		"another field of the depot": {func(p *v1alpha1.Provisioning) { p.Spec.Depot.ImageURL = "http://depot:80" }, nil},
		"another field of the worker": {func(p *v1alpha1.Provisioning) {
			p.Spec.Workers[0] = map[string]v1alpha1.Worker{"w": {HostRequirements: v1alpha1.HostRequirements{CPU: 2, Memory: "lots"}}}
		}, nil},
		"fixed":               {func(p *v1alpha1.Provisioning) { p.Spec.SSH.Port, p.Spec.Depot.Insecure = 22, true }, nil},
		"another bad address": {func(p *v1alpha1.Provisioning) { p.Spec.Depot.URL = "http://other:5000" }, []string{`"http://other:5000" ` + plain}},
		"another bad quantity": {func(p *v1alpha1.Provisioning) {
			p.Spec.Workers[0] = map[string]v1alpha1.Worker{"w": {HostRequirements: v1alpha1.HostRequirements{Memory: "much"}}}
		}, []string{`"much" is not a quantity`}},
		"bad where it was good": {func(p *v1alpha1.Provisioning) { p.Spec.PodSubnet = "10.233.0.0/16" }, []string{"overlap: spec.PodSubnet, spec.kubernetes.serviceSubnet"}},
		"two at once":           {func(p *v1alpha1.Provisioning) { p.Spec.SSH.Port, p.Spec.SSH.User = -1, "a b" }, []string{"-1 is not a port number", `"a b" is not a valid user name`}},
		"a bad label":           {func(p *v1alpha1.Provisioning) { p.Labels[v1alpha1.LabelCluster] = "C 1" }, []string{`"C 1" is not a DNS label`}},
	} {
		t.Run(name, func(t *testing.T) {
			p := old.DeepCopy()
			test.change(p)
			got, _ := findings(apis.WithinUpdate(context.Background(), old), p)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("got\n%s\nwithout\n%s", got, want)
				}
			}
			if lines := strings.Count(got, ": spec.") + strings.Count(got, ": metadata."); lines != len(test.want) {
				t.Errorf("%d errors, want %d:\n%s", lines, len(test.want), got)
			}
		})
	}
	if got, _ := findings(context.Background(), old); strings.Count(got, ": spec.") != 3 {
		t.Errorf("a new object has all errors, got\n%s", got)
	}
}

// TestRatchetLooksAtTheValue checks an error whose message does not contain the value of the field.
// If the update changes the value, the error counts as new.
func TestRatchetLooksAtTheValue(t *testing.T) {
	old := provisioning(t, "masters: [{m: {cpu: 1}}]\ndepot: {url: 'https://depot', caBundle: 'one'}")
	p := old.DeepCopy()
	p.Spec.Depot.CABundle = "two"
	if got, _ := findings(apis.WithinUpdate(context.Background(), old), p); !strings.Contains(got, "spec.depot.caBundle") {
		t.Errorf("a CA was put in the place of another, and neither is one: %q", got)
	}
}

// An object that was stored while the defaulting webhook was missing has no defaults, but the
// update has them. Fields that differ only by their defaults count as unchanged.
func TestRatchetOfAnObjectWithoutDefaults(t *testing.T) {
	for name, spec := range map[string]v1alpha1.ProvisioningSpec{
		"plain HTTP with a last slash":     {Depot: v1alpha1.DepotSpec{URL: "http://10.0.0.1:5000/"}},
		"overlap with the default pod net": {Kubernetes: v1alpha1.KubernetesSpec{ServiceSubnet: "10.233.64.0/20"}},
	} {
		spec.Masters = []map[string]v1alpha1.Master{{"m": {}}}
		old := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: spec, Status: v1alpha1.ProvisioningStatus{InstalledDigest: "v3:sha256:1"}}
		before := old.DeepCopy()
		p := old.DeepCopy()
		p.SetDefaults(context.Background())
		p.Annotations, p.Labels["team"] = map[string]string{"a": "b"}, "north"
		if errs, warn := findings(apis.WithinUpdate(context.Background(), old), p); errs != "" || warn != "" {
			t.Errorf("%s: a label is refused or warned of: %s%s", name, errs, warn)
		}
		if diff := cmp.Diff(before, old); diff != "" {
			t.Errorf("%s: the stored object has changed (-want +got):\n%s", name, diff)
		}
	}
}
