package from

import (
	"reflect"
	"slices"
	"strings"
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
	onlySetsSpec = `metadata: {namespace: site, name: edge-1, uid: uid-1}
spec:
  nodeSets: [{name: cp, role: master, count: {active: 3}}, {name: w, count: {active: 2, standby: 1}}]
`
	richSpec = `metadata: {namespace: site, name: edge-2, uid: uid-2, labels: {cluster: south}}
spec:
  masters: [{m-1: {mac-address: '00:c6:14:04:61:b2', cpu: 8, memory: 16Gi}}]
  workers: [{w-1: {cpu: 4, sriov: true, qat: true, disks: [{count: 2, minSize: 100Gi, type: SSD}], nics: [{count: 1, minSpeedGbps: 25, sriov: true}], cpuFlags: [avx512f], selector: {matchLabels: {rack: a}}}}]
  nodeSets: [{name: a, count: {active: 1}, topologyKey: rack, maxSkew: 2}]
  access: {subnets: [10.1.0.0/16], interface: oam}
  osImage: {url: 'http://site/os.qcow2', checksum: 'http://site/os.sha256'}
  operatingSystem: ubuntu-24.04
  kubernetes: {version: 1.34.2, networkPlugin: flannel, serviceSubnet: 10.233.0.0/18}
  PodSubnet: 10.244.64.0/18
  kubespray: {release: v2.31.0, vars: {a: 1}}
  ssh: {user: ops, port: 2222, secretName: k}
  depot: {url: 'https://10.60.0.1:5443', connected: true, checksums: Depot}
  timeouts: {install: 2h}
`
)

// The wanted digests are those that older versions stored. If DigestV1 returned others, BPA would
// not recognize the clusters that those versions installed.
func TestDigestV1StaysAsItWas(t *testing.T) {
	for text, want := range map[string]string{
		bareSpec:     "sha256:6d2e7a7d154f5e34b670fcdff82cd5da2ea7427d7569526b14ce922997d6b805",
		workersSpec:  "sha256:f5fe35078117e11899920753d8dd33ec9ae36420ab00ed36f563f826d5949f9b",
		setsSpec:     "sha256:75db9ab0044119627864939b288f0694095806df2a4bdb425fc72095a067ab8c",
		onlySetsSpec: "sha256:1332e5ac442571d9d58f54a2c9cd65d7971475677cdfdb1f182d395c5437cba8",
		richSpec:     "sha256:a0d71137f9da606306a990b2cfab190e64e8abce819e9959015625cb5d4c976c",
	} {
		got, err := DigestV1(requestOf(t, written(t, text)))
		if err != nil || got != want {
			t.Errorf("%s, %v; want %s of\n%s", got, err, want, text)
		}
	}
}

// If a digest here changes, BPA treats every installed cluster as changed.
func TestDigestStaysAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		bareSpec:     "v2:sha256:4256be77bce60d681bff9651e5985666d5856a0ab3be044e9cc4c79bde7a4e98",
		workersSpec:  "v2:sha256:c18e33e70152bc7f7344ad2e96927b746fe8c5b1f3c3841a2ae069263c1ae7ed",
		setsSpec:     "v2:sha256:d962961059038a0e9f6ed62c63718b7f24445e598d4877dfece99653d8d7e6c4",
		onlySetsSpec: "v2:sha256:f83b59ecccaf1c124a92fc1ed14335426afd2e2f1acc56b100dfb4580e4d79c6",
		richSpec:     "v2:sha256:61ed46519693cac605ccbdc6f284c5c2e9075108c9e13460120fae4b7f74b40e",
	} {
		got, err := Digest(requestOf(t, written(t, text)))
		if err != nil || got != want {
			t.Errorf("%s, %v; want %s of\n%s", got, err, want, text)
		}
	}
}

// TestDigestsOfAddresses: another way to the API servers is another cluster, also at the same address.
func TestDigestsOfAddresses(t *testing.T) {
	seen := map[string]string{}
	for _, api := range []string{
		"{mode: Node}", "{mode: External, address: 10.0.0.5}", "{mode: VIP, address: 10.0.0.5}", "{mode: VIP, address: 10.0.0.6}", "{mode: VIP, address: 10.0.0.5, names: [a.example]}",
	} {
		request := requestOf(t, written(t, bareSpec+"  kubernetes: {api: "+api+"}\n"))
		digest, err := Digest(request)
		if other, same := seen[digest]; err != nil || same {
			t.Errorf("%s: %v, the same digest as of %q", api, err, other)
		}
		if seen[digest] = api; request.API.Moves() != strings.Contains(api, "VIP") {
			t.Errorf("%s: %+v", api, request.API)
		}
	}
}

// The digest depends on the fields of identity and on no other field of a request. A new field of
// contract.Request therefore does not change the digests of installed clusters, whatever its
// default is.
func TestDigestDependsOnListedFieldsOnly(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range jsonNames(reflect.TypeFor[identity]()) {
		listed[name] = true
	}
	for _, name := range []string{"uid", "cluster", "sshUser", "sshPort"} { // these fields are in identity only because version 1 had them
		delete(listed, name)
	}
	request := requestOf(t, written(t, richSpec))
	was, err := Digest(request)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.ValueOf(request.Order).IsZero() || !reflect.ValueOf(request.Record).IsZero() {
		t.Errorf("the request of a spec has an order %+v and a record %+v", request.Order, request.Record)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[contract.Request]()) {
		if field.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		changed := request
		change(t, reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index))
		is, err := Digest(changed)
		if err != nil || (is != was) != listed[name] {
			t.Errorf("another %s: other digest %t, want %t (%v)", name, is != was, listed[name], err)
		}
	}
}

func jsonNames(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// change gives a field a value that no sample has.
func change(t *testing.T, field reflect.Value) {
	t.Helper()
	switch field.Kind() {
	case reflect.String:
		field.SetString("changed")
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		field.SetInt(field.Int() + 1)
	case reflect.Slice:
		item := reflect.New(field.Type().Elem()).Elem()
		if item.Kind() == reflect.Struct && item.FieldByName("Active").IsValid() {
			item.FieldByName("Active").SetInt(1) // a set without active nodes is not installed
		}
		field.Set(reflect.Append(field.Slice3(0, field.Len(), field.Len()), item))
	case reflect.Map:
		all := reflect.MakeMap(field.Type())
		all.SetMapIndex(reflect.ValueOf("changed"), reflect.ValueOf("1").Convert(field.Type().Elem()))
		field.Set(all)
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Struct:
		change(t, field.Field(0))
	default:
		t.Fatalf("a field of kind %s: teach this test to change it", field.Kind())
	}
}

// The digest does not depend on the label and the order of workers. It depends on the order of the
// control plane nodes, because etcd's members are numbered in this order.
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

// A Provisioning without a release must keep the digest of its inputs, because otherwise an upgrade
// of BPA would retry its failed run.
func TestInputsStayAsTheyWere(t *testing.T) {
	p := written(t, bareSpec)
	got, err := Inputs(p, requestOf(t, p))
	if want := "sha256:69728257b40a44e536827a703436bf211f50c0ee3437d0f983339616480c6378"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// The digest is the same for an empty secretName and for the name of the default Secret.
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

// The variables of a named node, and those of a set with nodes, define the cluster. Those of a set with only standby hosts
// do not.
func TestDigestDependsOnVariablesOfNodes(t *testing.T) {
	digest := func(slot, set string) string {
		spec := strings.Replace(strings.Replace(setsSpec, "{mac-address:", "{"+slot+"mac-address:", 1), set, set+", vars: {a: 1}", 1)
		got, err := Digest(requestOf(t, written(t, spec)))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	was, err := Digest(requestOf(t, written(t, setsSpec)))
	if err != nil {
		t.Fatal(err)
	}
	master, set, standby := digest("vars: {a: 1}, ", "none"), digest("", "name: a"), digest("", "name: s")
	if master == was || set == was || master == set || standby != was {
		t.Errorf("digests: %s without, %s of a master, %s of a set, %s of a set with only standby hosts", was, master, set, standby)
	}
}
