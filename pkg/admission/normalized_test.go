package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestAnotherNotationIsNoEdit: the webhook stores values as they were written. An installed cluster therefore accepts the
// same values in another notation, also from a build that has stored only one of them.
func TestAnotherNotationIsNoEdit(t *testing.T) {
	const one = "masters: [{m: {cpu: 4, disks: [{type: nvme}]}}]\nnodeSets: [{name: pool, count: {active: 2}, topologyKey: rack}]\n" +
		"kubernetes: {version: v1.35.4}\ndepot: {url: 'https://10.60.0.1:5443/'}\nbackup: {schedule: ' 30 2 * * *'}"
	const other = "masters: [{m: {cpu: 4, disks: [{type: NVME, count: 1}]}}]\nnodeSets: [{name: pool, role: worker, count: {active: 2}, topologyKey: rack, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]\n" +
		"kubernetes: {version: 1.35.4}\ndepot: {url: 'https://10.60.0.1:5443'}\nbackup: {schedule: '30 2 * * *'}"
	read := func(text string) *v1alpha1.Provisioning { // as it is stored: with its defaults, but in its notation
		p := provisioning(t, text)
		p.Spec.Masters, p.Spec.NodeSets = nil, nil
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil { // again, over the defaults
			t.Fatal(err)
		}
		return p
	}
	if diff := cmp.Diff(read(one).Normalized().Spec, read(other).Normalized().Spec); diff != "" {
		t.Fatalf("normalized (-one +other):\n%s", diff)
	}
	for _, texts := range [][2]string{{one, other}, {other, one}, {one, one}} {
		was, is := read(texts[0]), read(texts[1])
		was.Status.InstalledDigest, was.Status.ObservedGeneration = "v3:sha256:x", was.Generation
		if err := CheckProvisioning(apis.WithinUpdate(t.Context(), was), is); err != nil {
			t.Errorf("%s\nafter\n%s\nis an edit: %v", texts[1], texts[0], err)
		}
	}
	if p := read(one); p.Spec.Kubernetes.Version != "v1.35.4" || p.Normalized().Spec.Kubernetes.Version != "1.35.4" {
		t.Error("Normalized has changed its object, or not its copy")
	}
}
