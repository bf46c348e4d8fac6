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

// If a digest here changes, BPA treats every installed cluster as changed.
func TestDigestStaysAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		bareSpec:     "v3:sha256:e3ee6daf8fcb16b8dc8cb01ecb963a1938efaea46220b1a052748e4720c7beee",
		workersSpec:  "v3:sha256:660d0e2b6f4f93cad4421a27a423f4e50f1716f6f7d59523e5f4cea3827ea16f",
		setsSpec:     "v3:sha256:e04411423785f8959b7f471fc44ec30b48b5fba1c8da621a634b07543218108c",
		onlySetsSpec: "v3:sha256:c745fb0556641b281596fcd12f09c69ef0b8dd47a450d7b968177efb6d421f61",
		richSpec:     "v3:sha256:17481f5ffe4e4653954ba83be50d40cbbf422774b528e74b78d6d76b65b51ca7",
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
