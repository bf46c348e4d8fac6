package from

import (
	"slices"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/settings"
)

const (
	bareSpec    = "metadata: {namespace: site, name: edge-1, uid: uid-1}\nspec:\n  masters: [{master-1: {cpu: 8}}]\n"
	workersSpec = `metadata: {namespace: site, name: edge-1, uid: uid-1}
spec:
  masters: [{m-2: {cpu: 8}}, {m-1: {cpu: 8}}, {m-3: {cpu: 8}}]
  workers: [{w-2: {cpu: 4}}, {w-1: {cpu: 16, memory: 64Gi, sriov: true}}]
`
	setsSpec = `metadata: {namespace: site, name: edge-1, uid: uid-1, labels: {cluster: north}}
spec:
  masters: [{m-1: {mac-address: '00:c6:14:04:61:b2'}}]
  nodeSets: [{name: z, count: {active: 2, standby: 1}, topologyKey: rack}, {name: a, count: {active: 1}}, {name: s, count: {active: 0, standby: 2}}]
  depot: {url: 'http://10.60.0.1:5000'}
  kubespray: {vars: {b: {z: [1, null]}}}
`
)

// The digests are the values that older versions stored. Installed clusters are recognized by them.
func TestDigestV1StaysAsItWas(t *testing.T) {
	for text, want := range map[string]string{
		bareSpec:    "sha256:6d2e7a7d154f5e34b670fcdff82cd5da2ea7427d7569526b14ce922997d6b805",
		workersSpec: "sha256:f5fe35078117e11899920753d8dd33ec9ae36420ab00ed36f563f826d5949f9b",
		setsSpec:    "sha256:75db9ab0044119627864939b288f0694095806df2a4bdb425fc72095a067ab8c",
	} {
		got, err := DigestV1(requestOf(t, written(t, text)))
		if err != nil || got != want {
			t.Errorf("%s, %v; want %s of\n%s", got, err, want, text)
		}
	}
}

// If these values change, every installed cluster appears to be changed.
func TestDigestStaysAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		bareSpec:    "v2:sha256:4256be77bce60d681bff9651e5985666d5856a0ab3be044e9cc4c79bde7a4e98",
		workersSpec: "v2:sha256:c18e33e70152bc7f7344ad2e96927b746fe8c5b1f3c3841a2ae069263c1ae7ed",
		setsSpec:    "v2:sha256:d962961059038a0e9f6ed62c63718b7f24445e598d4877dfece99653d8d7e6c4",
	} {
		got, err := Digest(requestOf(t, written(t, text)))
		if err != nil || got != want {
			t.Errorf("%s, %v; want %s of\n%s", got, err, want, text)
		}
	}
}

// The label and the order of workers do not define another cluster. The order of the control plane
// does, because etcd's members are numbered by it.
func TestDigestOfLabelAndOrder(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		change func(*v1alpha1.Provisioning)
		same   bool
	}{
		"another label":            {setsSpec, func(p *v1alpha1.Provisioning) { p.Labels["cluster"] = "south" }, true},
		"no label":                 {setsSpec, func(p *v1alpha1.Provisioning) { p.Labels = nil }, true},
		"workers in another order": {workersSpec, func(p *v1alpha1.Provisioning) { slices.Reverse(p.Spec.Workers) }, true},
		"sets in another order":    {setsSpec, func(p *v1alpha1.Provisioning) { slices.Reverse(p.Spec.NodeSets) }, true},
		"masters in another order": {workersSpec, func(p *v1alpha1.Provisioning) { slices.Reverse(p.Spec.Masters) }, false},
		"another name of a worker": {workersSpec, func(p *v1alpha1.Provisioning) { p.Spec.Workers[0] = map[string]v1alpha1.Worker{"w-3": {}} }, false},
		"plain HTTP is accepted":   {setsSpec, func(p *v1alpha1.Provisioning) { p.Spec.Depot.Insecure = true }, true},
	} {
		p := written(t, test.text)
		was, err1 := Digest(requestOf(t, p))
		test.change(p)
		request, err2 := Provisioning(p, settings.Depot{})
		before := slices.Clone(request.Slots)
		is, err3 := Digest(request)
		if err1 != nil || err2 != nil || err3 != nil || (was == is) != test.same {
			t.Errorf("%s: same digest %t, want %t (%v, %v, %v)", name, was == is, test.same, err1, err2, err3)
		}
		if !slices.EqualFunc(before, request.Slots, func(a, b contract.Slot) bool { return a.Name == b.Name }) {
			t.Errorf("%s: the digest has changed the order of the request itself", name)
		}
	}
}

// An upgrade of BPA must not retry a failed run of a Provisioning without a release, so the digest
// of its inputs stays the same.
func TestInputsStayAsTheyWere(t *testing.T) {
	p := written(t, bareSpec)
	got, err := Inputs(p, requestOf(t, p))
	if want := "sha256:69728257b40a44e536827a703436bf211f50c0ee3437d0f983339616480c6378"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// The default Secret gives the same digest, whether the default was filled in or not.
func TestInputsOfTheDefaultSecret(t *testing.T) {
	p := written(t, bareSpec)
	request := requestOf(t, p)
	want, err1 := Inputs(p, request)
	p.Spec.SSH.SecretName = ""
	got, err2 := Inputs(p, request)
	if err1 != nil || err2 != nil || got != want {
		t.Errorf("%s, want %s (%v, %v)", got, want, err1, err2)
	}
}
