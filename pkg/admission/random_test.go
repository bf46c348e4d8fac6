package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// world generates random specs. Most values are valid and some are invalid. The number of invalid
// values depends on the field careless.
type world struct {
	*rand.Rand
	careless float64 // share of invalid values
}

func pick[T any](w world, good, bad []T) T {
	if w.Float64() < w.careless {
		return bad[w.IntN(len(bad))]
	}
	return good[w.IntN(len(good))]
}

// some returns a list that either has the item or is empty.
func some[T any](w world, item T) []T { return []T{item}[:w.IntN(2)] }

type texts = []string

func (w world) text(good ...string) string {
	return pick(w, append(good, ""), texts{" v1", "/", "10.0.0.0/8", "a b", "-1", "%s", "$(name)", "\n", "é", "ftp://a/b", "http://["})
}

func (w world) number() int32 {
	return pick(w, []int32{0, 1, 2, 3}, []int32{4000, -1, 1<<31 - 1, -1 << 31})
}

func (w world) size() string {
	return pick(w, texts{"", "1Gi", "960G", "1073741824"}, texts{"16", "lots", "1e30", "-5Mi"})
}

func (w world) selector() *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	switch w.IntN(3) {
	case 0:
		return nil
	case 1:
		s.MatchLabels = map[string]string{pick(w, texts{"a", "a/b"}, texts{"", "é"}): w.text("r1")}
	}
	s.MatchExpressions = []metav1.LabelSelectorRequirement{{
		Key: w.text("rack") + "a", Operator: pick(w, []metav1.LabelSelectorOperator{"In", "NotIn"}, []metav1.LabelSelectorOperator{"Exists", "Gt"}), Values: texts{w.text("r1")},
	}}
	return s
}

func (w world) requirements() v1alpha1.HostRequirements {
	h := v1alpha1.HostRequirements{
		CPU: 1 + w.number()/2, Memory: w.size(), SRIOV: w.IntN(2) == 0, QAT: w.IntN(2) == 0, Selector: w.selector(),
		Architecture: pick(w, texts{"", "", "amd64", "x86_64", "arm64"}, texts{"vax"}), CPUModel: w.text("Intel*"), CPUFlags: some(w, "avx"+w.text()),
		CPUClockMHz: 1000 * w.number() / 2, Disks: some(w, v1alpha1.DiskRequirement{Count: w.number(), MinSize: w.size(), Type: w.text("hdd", "SSD")}),
		NICs: some(w, v1alpha1.NICRequirement{Count: w.number(), MinSpeedGbps: w.number(), Model: w.text("0x8086*")}),
	}
	if w.IntN(3) == 0 {
		h.System = &v1alpha1.SystemRequirement{Vendor: "D" + w.text("ell")}
	}
	if w.IntN(3) == 0 {
		h.Firmware = &v1alpha1.FirmwareRequirement{Date: "2" + w.text("024")}
	}
	return h
}

// name returns a name that is usually unique within the spec.
func (w world) name() string {
	return pick(w, texts{"m", "w", fmt.Sprint("a", w.IntN(100))}, texts{"a", "a-1", "M", "etcd", ""})
}

func (w world) node() v1alpha1.Worker {
	n := v1alpha1.Worker{HostRequirements: w.requirements()}
	if w.IntN(3) == 0 {
		mac := pick(w, []v1alpha1.MAC{v1alpha1.MAC(fmt.Sprintf("00-C6-14-04-61-%02x", w.IntN(256)))}, []v1alpha1.MAC{"", "00:c6:14:04:61:b2", "x"})
		n.MACAddress = &mac
	}
	return n
}

func (w world) spec() (s v1alpha1.ProvisioningSpec) {
	for range w.IntN(3) {
		s.Masters = append(s.Masters, map[string]v1alpha1.Master{w.name(): v1alpha1.Master(w.node())})
	}
	for range w.IntN(3) {
		s.Workers = append(s.Workers, map[string]v1alpha1.Worker{w.name(): w.node()})
	}
	for range w.IntN(3) {
		s.NodeSets = append(s.NodeSets, w.set())
	}
	if w.Float64() < w.careless {
		s.Masters = append(s.Masters, pick(w, []map[string]v1alpha1.Master{nil, {}}, []map[string]v1alpha1.Master{{"a": {}, "b": {}}}))
	}
	if w.IntN(2) == 0 {
		s.OSImage = &v1alpha1.OSImageSpec{
			URL: "http://d/i" + w.text(), Checksum: "http://d/s" + w.text(), ChecksumType: w.text("auto", "md5"), Format: w.text("raw"),
			UserData: w.text("u"), NetworkData: w.text("n-$(host)"), MetaData: w.text("$(node)"),
		}
	}
	if w.IntN(2) == 0 {
		s.Access = v1alpha1.AccessSpec{Subnets: some(w, pick(w, texts{"10.60.0.0/24", "fd00::/8"}, texts{"::/0", "x", ""})), Interface: w.text("enp1s0")}
	}
	s.PodSubnet, s.Depot.URL = w.text("10.9.0.0/16"), w.text("http://depot//")
	s.Kubernetes = v1alpha1.KubernetesSpec{Version: w.text("v1.35.4", "vv1.35.4"), ServiceSubnet: w.text("10.8.0.0/16"), NetworkPlugin: w.text("flannel")}
	s.SSH = v1alpha1.SSHSpec{User: w.text("icn"), Port: w.number(), SecretName: w.text("key")}
	s.Kubespray.Vars = map[string]apiextensionsv1.JSON{"a" + w.text(): {Raw: []byte(w.text("1"))}}
	return s
}

func (w world) set() v1alpha1.NodeSet {
	set := v1alpha1.NodeSet{
		Name: w.name(), Role: pick(w, []v1alpha1.NodeRole{"", v1alpha1.RoleWorker, v1alpha1.RoleControlPlane, v1alpha1.RoleControlPlaneWorker}, []v1alpha1.NodeRole{"x"}),
		Count: v1alpha1.NodeCount{Active: 1 + w.number(), Standby: w.number()}, HostRequirements: w.requirements(),
	}
	if w.IntN(2) == 0 {
		set.TopologyKey, set.MaxSkew = w.text("rack"), pick(w, []int32{0}, []int32{1, -1})
		set.WhenUnsatisfiable = pick(w, []corev1.UnsatisfiableConstraintAction{""}, []corev1.UnsatisfiableConstraintAction{"ScheduleAnyway", "x"})
	}
	return set
}

// The test checks three properties of every spec. Defaulting is idempotent, because the webhook may
// be called twice for one request. Validation changes nothing and does not panic. A spec that
// passes validation has slots, because the controller relies on that.
func TestRandomSpecs(t *testing.T) {
	passed := 0
	for seed := range uint64(10000) {
		w := world{rand.New(rand.NewPCG(seed, 1)), []float64{0, 0.02, 0.2}[seed%3]}
		p := &v1alpha1.Provisioning{Spec: w.spec()}
		p.Name = w.text("edge-1")
		if w.IntN(2) == 0 {
			p.Labels = map[string]string{"cluster": w.text("c1")}
		}
		CheckProvisioning(context.Background(), p) // without defaults: the defaulting webhook may be missing
		p.SetDefaults(context.Background())
		once := p.DeepCopy()
		p.SetDefaults(context.Background())
		errs, _ := findings(context.Background(), p)
		slots, err := p.Spec.Slots()
		sets := p.Spec.Sets()
		if !equality.Semantic.DeepEqual(once, p) {
			t.Fatalf("seed %d (-once +twice):\n%s", seed, cmp.Diff(once, p))
		}
		if errs != "" {
			continue
		}
		if passed++; err != nil || len(slots)+len(sets) == 0 {
			t.Fatalf("seed %d: Validate passed, yet slots are %v, %v", seed, slots, err)
		}
	}
	if passed < 1000 {
		t.Errorf("%d specs passed: too few to say that what passes has slots", passed)
	}
}
