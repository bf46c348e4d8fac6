package from

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// written returns a Provisioning as a user writes it, with the defaults of the webhook.
func written(t *testing.T, text string) *v1alpha1.Provisioning {
	t.Helper()
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
		t.Fatalf("the test's own YAML: %v", err)
	}
	p.SetDefaults(context.Background())
	return p
}

func requestOf(t *testing.T, p *v1alpha1.Provisioning) contract.Request {
	t.Helper()
	request, err := Provisioning(p, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	return request
}

const head = "metadata: {namespace: site, name: edge-1, uid: uid-1, labels: {cluster: c1}}\nspec:\n  "

// spec returns a Provisioning, in YAML, with the given fields in its spec.
func spec(text string) string { return head + strings.ReplaceAll(text, "\n", "\n  ") }

// BPA must not treat a cluster as changed that was installed before node sets existed. Therefore,
// its request and both digests must be those of the earlier versions.
func TestRequestsStayAsTheyWere(t *testing.T) {
	p := written(t, spec(`masters:
- master-1: {mac-address: 00-C6-14-04-61-B2}
- master-2: {cpu: 8, memory: 16Gi}
- master-3: {cpu: 8, memory: 0.5Gi}
workers:
- master-3: {mac-address: '', cpu: 16, memory: 1G, sriov: true}
- worker-1: {cpu: 16, memory: '68719476736', sriov: true, qat: true}
PodSubnet: 10.244.64.0/18
access: {subnets: []}
kubespray: {vars: {b: {z: [1, null]}, a: true}}
depot: {url: 'http://10.60.0.1:5000/'}
`))
	request := requestOf(t, p)
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	digest, err1 := Digest(request)
	inputs, err2 := Inputs(p, request)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	got := map[string]string{"text": string(text), "digest": digest, "inputs": inputs}
	want := map[string]string{
		"text": `{"provisioning":"edge-1","namespace":"site","uid":"uid-1","cluster":"c1","slots":[` +
			`{"name":"master-1","roles":["control-plane"],"mac":"00:c6:14:04:61:b2"},` +
			`{"name":"master-2","roles":["control-plane"],"cpu":8,"memory":17179869184},` +
			`{"name":"master-3","roles":["control-plane","worker"],"cpu":16,"memory":1000000000,"sriov":true},` +
			`{"name":"worker-1","roles":["worker"],"cpu":16,"memory":68719476736,"sriov":true,"qat":true}],` +
			`"kubernetesVersion":"1.35.4","networkPlugin":"flannel","podSubnet":"10.244.64.0/18","serviceSubnet":"10.233.0.0/18",` +
			`"sshUser":"root","sshPort":22,"depotURL":"http://10.60.0.1:5000","vars":{"a":true,"b":{"z":[1,null]}}}`,
		"digest": "v3:sha256:999e73f8fea9761ce9797a0dd184e4938adef8a1b34bde0ec32c8fcfaeb56032",
		"inputs": "sha256:42bb7a72c93adc941fc0dcf458fcb9da4401839c0ed54b9650b5dc70587d1c14",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMakeRequestNeeds(t *testing.T) {
	p := written(t, spec(`masters:
- m:
    cpu: 8
    memory: 16Gi
    sriov: true
    qat: true
    selector:
      matchLabels: {zone: b, rack: r1}
      matchExpressions:
      - {key: rack, operator: In, values: [r1]}
      - {key: gpu, operator: DoesNotExist}
      - {key: zone, operator: NotIn, values: [d, c, d]}
    architecture: amd64
    cpuModel: Intel*
    cpuFlags: [sse4_2, AVX512F, sse4_2]
    cpuClockMHz: 2400
    disks: [{minSize: 960G, type: nvme}, {count: 2}]
    nics: [{minSpeedGbps: 25, model: 0x8086*, sriov: true, count: 2}, {}]
    system: {vendor: Dell*, product: PowerEdge*}
    firmware: {vendor: Dell*, version: 2.1*, date: '*/2024'}
`))
	want := contract.Slot{
		Name: "m", Roles: []string{"control-plane", "worker"},
		Needs: contract.Needs{
			CPU: 8, Memory: 16 << 30, SRIOV: true, QAT: true,
			Labels: []contract.LabelTerm{
				{Key: "gpu", Operator: "DoesNotExist"},
				{Key: "rack", Operator: "In", Values: []string{"r1"}},
				{Key: "zone", Operator: "In", Values: []string{"b"}},
				{Key: "zone", Operator: "NotIn", Values: []string{"c", "d"}},
			},
			Architecture: "x86_64", CPUModel: "Intel*", CPUFlags: []string{"avx512f", "sse4_2"}, CPUClock: 2400,
			Disks:  []contract.DiskNeed{{Count: 1, Size: 960_000_000_000, Type: "NVME"}, {Count: 2}},
			NICs:   []contract.NICNeed{{Count: 2, Speed: 25, Model: "0x8086*", SRIOV: true}, {Count: 1}},
			Vendor: "Dell*", Product: "PowerEdge*",
			Firmware: &contract.Firmware{Vendor: "Dell*", Version: "2.1*", Date: "*/2024"},
		},
	}
	if diff := cmp.Diff([]contract.Slot{want}, requestOf(t, p).Slots); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMakeRequestSets(t *testing.T) {
	p := written(t, spec(`nodeSets:
- name: control
  role: control-plane
  count: {active: 3}
  topologyKey: rack
- name: workers
  count: {active: 5, standby: 2}
  architecture: arm64
  topologyKey: rack
  maxSkew: 2
  whenUnsatisfiable: ScheduleAnyway
  taints: [{key: example.org/gpu, value: 'yes', effect: NoSchedule}, {key: b, effect: NoExecute}]
- name: both
  role: control-plane-worker
  count: {active: 2}
osImage: {url: 'http://d/i.qcow2', checksum: 'http://d/i.sha256', checksumType: auto, format: qcow2, userData: u, networkData: n-$(host), metaData: m-$(node)}
access: {subnets: [10.60.0.0/24, 'fd00:60::/64'], interface: enp1s0}
`))
	request := requestOf(t, p)
	want := []contract.Set{
		{Name: "control", Roles: []string{"control-plane"}, Active: 3, Spread: &contract.Spread{TopologyKey: "rack", MaxSkew: 1}},
		{Name: "workers", Roles: []string{"worker"}, Active: 5, Standby: 2, Needs: contract.Needs{Architecture: "aarch64"},
			Spread: &contract.Spread{TopologyKey: "rack", MaxSkew: 2, Soft: true}, Taints: []string{"example.org/gpu=yes:NoSchedule", "b=:NoExecute"}},
		{Name: "both", Roles: []string{"control-plane", "worker"}, Active: 2},
	}
	if diff := cmp.Diff(want, request.Sets); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	image := &contract.OSImage{URL: "http://d/i.qcow2", Checksum: "http://d/i.sha256", ChecksumType: "auto", Format: "qcow2", UserData: "u", NetworkData: "n-$(host)", MetaData: "m-$(node)"}
	if diff := cmp.Diff(image, request.OSImage); diff != "" {
		t.Errorf("image (-want +got):\n%s", diff)
	}
	access := contract.Access{Subnets: []string{"10.60.0.0/24", "fd00:60::/64"}, Interface: "enp1s0"}
	if diff := cmp.Diff(access, request.Access); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
}

// Quantities are converted to bytes. The error for an invalid quantity names the node or the set.
// It occurs only if the webhook, which rejects such a spec, is missing.
func TestMakeRequestOfABadSpec(t *testing.T) {
	for text, want := range map[string]string{
		"masters: [{m: {disks: [{minSize: big}]}}]":              `node m: minSize "big"`,
		"nodeSets: [{name: s, count: {active: 1}, memory: lot}]": `node set s: memory "lot"`,
	} {
		if _, err := Provisioning(written(t, spec(text)), settings.Depot{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// The digest depends on the nodes that are installed. It does not depend on standby hosts, on the
// image for later hosts, or on the notation of a requirement.
func TestDigestOfSets(t *testing.T) {
	const base = "nodeSets: [{name: c, role: control-plane, count: {active: 1}}, {name: w, count: {active: 2, standby: 1}, cpuFlags: [b, a], architecture: amd64}]\n"
	digests := func(text string) [2]string {
		p := written(t, spec(text))
		request := requestOf(t, p)
		digest, err1 := Digest(request)
		inputs, err2 := Inputs(p, request)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		return [2]string{digest, inputs}
	}
	was := digests(base)
	for _, r := range []struct {
		name, text             string
		sameDigest, sameInputs bool
	}{
		{"a taint", strings.Replace(base, "cpuFlags:", "taints: [{key: a, effect: NoSchedule}], cpuFlags:", 1), true, false},
		{"another active one", strings.Replace(base, "active: 2", "active: 3", 1), false, false},
		{"another standby", strings.Replace(base, "standby: 1", "standby: 2", 1), true, false},
		{"a set of standbys", strings.Replace(base, "nodeSets: [", "nodeSets: [{name: s, count: {active: 0, standby: 1}}, ", 1), true, false},
		{"an image", base + "osImage: {url: 'oci://d/i'}", true, false},
		{"addresses in a certain subnet", base + "access: {subnets: [10.60.0.0/24]}", false, false},
		{"a requirement", strings.Replace(base, "amd64", "arm64", 1), false, false},
		{"written in another way", strings.NewReplacer("amd64", "x86_64", "[b, a]", "[A, b, a]").Replace(base), true, true},
	} {
		got := digests(r.text)
		if (got[0] == was[0]) != r.sameDigest || (got[1] == was[1]) != r.sameInputs {
			t.Errorf("%s: same digest %t, same inputs %t; want %t, %t", r.name, got[0] == was[0], got[1] == was[1], r.sameDigest, r.sameInputs)
		}
	}
}

// Each sample can be converted into a request. The tasks read this request as JSON, so it must be
// the same after it is encoded and decoded.
func TestSamplesMakeRequests(t *testing.T) {
	files, err := filepath.Glob("../../../config/samples/[^b]*.yaml") // without the sample of the kind Backup
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		if strings.Contains(file, "software") { // the kind Software
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := requestOf(t, written(t, string(raw)))
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got contract.Request
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filepath.Base(file), diff)
		}
	}
}

// DepotOfSite is true only if the Provisioning sets neither the address nor the certificate of the
// depot.
func TestDepotOfSite(t *testing.T) {
	site := settings.Depot{URL: "https://10.60.0.1:5443", CA: "SITE"}
	connected := true
	for name, tc := range map[string]struct {
		spec v1alpha1.DepotSpec
		site settings.Depot
		want bool
	}{
		"nothing said":                {v1alpha1.DepotSpec{}, site, true},
		"connected alone":             {v1alpha1.DepotSpec{Connected: &connected}, site, true},
		"the site's, written again":   {v1alpha1.DepotSpec{URL: site.URL}, site, true},
		"the site's, with another CA": {v1alpha1.DepotSpec{URL: site.URL, CABundle: "MINE"}, site, false},
		"another":                     {v1alpha1.DepotSpec{URL: "https://mine.example"}, site, false},
		"a site without one":          {v1alpha1.DepotSpec{}, settings.Depot{}, false},
	} {
		got, err := Provisioning(provisioning(func(p *v1alpha1.Provisioning) { p.Spec.Depot = tc.spec }), tc.site)
		if err != nil || got.DepotOfSite != tc.want {
			t.Errorf("%s: %v, %v; want %v", name, got.DepotOfSite, err, tc.want)
		}
	}
}

// The request for an uploaded image contains two URLs of the depot: that of the image, and that of
// the file with the image's digest.
func TestUploadedOSImage(t *testing.T) {
	p := provisioning(func(p *v1alpha1.Provisioning) {
		p.Spec.Depot = v1alpha1.DepotSpec{}
		p.Spec.OSImage = &v1alpha1.OSImageSpec{Upload: "c1/edge-1/Debian-13.qcow2", Format: "qcow2", UserData: "u"}
	})
	got, err := Provisioning(p, settings.Depot{URL: "https://10.60.0.1:5443"})
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://10.60.0.1:5443/files/os_images/c1/edge-1/Debian-13.qcow2"
	want := &contract.OSImage{URL: url, Checksum: url + ".sha256sum", ChecksumType: "auto", Uploaded: true, Format: "qcow2", UserData: "u"}
	if diff := cmp.Diff(want, got.OSImage); diff != "" {
		t.Errorf("image (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		spec v1alpha1.DepotSpec
		want string
	}{
		"the site's listener for images":     {v1alpha1.DepotSpec{}, "http://10.60.0.1:5000"},
		"the spec's":                         {v1alpha1.DepotSpec{ImageURL: "http://10.60.0.1:80"}, "http://10.60.0.1:80"},
		"another depot has none of the site": {v1alpha1.DepotSpec{URL: "https://other"}, "https://other"},
	} {
		p.Spec.Depot = tc.spec
		got, err := Provisioning(p, settings.Depot{URL: "https://10.60.0.1:5443", ImageURL: "http://10.60.0.1:5000"})
		if err != nil || got.OSImage.URL != tc.want+"/files/os_images/c1/edge-1/Debian-13.qcow2" {
			t.Errorf("%s: %+v, %v", name, got.OSImage, err)
		}
	}
	p.Spec.Depot = v1alpha1.DepotSpec{}
	if got := DepotProblem(p, settings.Depot{}); !strings.Contains(got, "spec.depot.url") {
		t.Errorf("without a depot: %q; want what to do", got)
	}
}

// The level of a patch is the value of the annotation. The record has it for each node, so its length is
// limited.
func TestPatchLevel(t *testing.T) {
	p := written(t, spec("masters: [{master-1: }]"))
	digest, err := Digest(requestOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"": "", "2026-11-22T16:00:00Z": "2026-11-22T16:00:00Z", "next monday": "a0485f18d55e3339", strings.Repeat("a", 65): "635361c48bb9eab1", "a\n": "87428fc522803d31",
	} {
		p.Annotations = map[string]string{contract.AnnotationPatch: value}
		r := requestOf(t, p)
		if r.Patched != want {
			t.Errorf("%q: %q, want %q", value, r.Patched, want)
		}
		if got, err := Digest(r); got != digest || err != nil {
			t.Errorf("%q: the digest of the cluster depends on it: %v", value, err)
		}
	}
}

// The notation of a value does not change the digest: the webhook stores values as they were written.
func TestNotationsHaveOneDigest(t *testing.T) {
	stored := written(t, richSpec)
	stored.Spec.Kubernetes.Version, stored.Spec.Depot.URL = "v"+stored.Spec.Kubernetes.Version, stored.Spec.Depot.URL+"//"
	stored.Spec.NodeSets[0].Role, stored.Spec.NodeSets[0].WhenUnsatisfiable = "", ""
	worker := stored.Spec.Workers[0]["w-1"]
	worker.Disks[0].Type, worker.NICs[0].Count = "ssd", 0
	for name, digest := range map[string]func(contract.Request) (string, error){"digest": Digest, "inputs": func(r contract.Request) (string, error) { return Inputs(stored, r) }} {
		want, err1 := digest(requestOf(t, written(t, richSpec)))
		got, err2 := digest(requestOf(t, stored))
		if err1 != nil || err2 != nil || got != want {
			t.Errorf("%s: %s, want %s (%v, %v)", name, got, want, err1, err2)
		}
	}
}
