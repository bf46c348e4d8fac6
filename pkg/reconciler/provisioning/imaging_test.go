package provisioning

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// wantsUpload asks for an image of the depot, whose digest only seed-registry knows.
func wantsUpload(p *v1alpha1.Provisioning) {
	p.Spec.Depot.URL = "http://site:5000"
	p.Spec.OSImage = &v1alpha1.OSImageSpec{Upload: "o/c/jammy.raw"}
}

// TestImages: claimed hosts get the image of the spec from the controller, once, and only while a run that claimed them works.
func TestImages(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	bare := func(change ...func(*hosts.Host)) *fakeHosts {
		f := held()
		f.all[0].Bare, f.all[0].Node = true, "master-1"
		for _, c := range change {
			c(&f.all[0])
		}
		return f
	}
	cancelled := func(pr *tekton.PipelineRun) { pr.Spec.Status = tekton.PipelineRunSpecStatusCancelled }
	for _, row := range []struct {
		name    string
		edge    *v1alpha1.Provisioning
		hosts   *fakeHosts
		run     func(*tekton.PipelineRun)
		selects corev1.ConditionStatus // of select-hosts; empty: it has not started
		want    []string
	}{
		{"a claimed host gets the image", edge(wantsUpload), bare(), nil, corev1.ConditionUnknown, []string{"host-1=master-1 " + sum}},
		{"also after the claim, as a standby", edge(wantsUpload), bare(), nil, corev1.ConditionTrue, []string{"host-1=master-1 " + sum}},
		{"no spec.osImage", edge(), bare(), nil, corev1.ConditionUnknown, nil},
		{"no node yet", edge(wantsUpload), bare(func(h *hosts.Host) { h.Node = "" }), nil, corev1.ConditionUnknown, nil},
		{"it has one", edge(wantsUpload), bare(func(h *hosts.Host) { h.Imaged = true }), nil, corev1.ConditionUnknown, nil},
		{"claimed by an earlier Provisioning of the name", edge(wantsUpload), bare(func(h *hosts.Host) { h.Holder.UID = "earlier" }), nil, corev1.ConditionUnknown, nil},
		{"nobody claims yet", edge(wantsUpload), bare(), nil, "", nil},
		{"the claim failed", edge(wantsUpload), bare(), nil, corev1.ConditionFalse, nil},
		{"the run is being cancelled", edge(wantsUpload), bare(), cancelled, corev1.ConditionUnknown, nil},
		{"the run has ended", edge(wantsUpload), bare(), ended(corev1.ConditionFalse, "Failed"), corev1.ConditionTrue, nil},
		{"deletion", edge(wantsUpload, deleting), bare(), nil, corev1.ConditionUnknown, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := run(row.edge, 1)
			if row.run != nil {
				row.run(pr)
			}
			world := []runtime.Object{row.edge, pr, child(pr, contract.TaskSeedRegistry, corev1.ConditionTrue, map[string]string{contract.ResultOSImage: sum})}
			if row.selects != "" {
				world = append(world, child(pr, contract.TaskSelectHosts, row.selects, nil))
			}
			w := newWorld(t, row.hosts, world, nil)
			for range 2 { // twice equals once
				_ = w.visit(t, at) // deletion and failures come back later
			}
			if diff := cmp.Diff(row.want, row.hosts.imaged); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGivenUpHostsAreReleased: what select-hosts cannot release itself, the controller does, while the run works and after it.
func TestGivenUpHostsAreReleased(t *testing.T) {
	for _, state := range []corev1.ConditionStatus{corev1.ConditionUnknown, corev1.ConditionFalse} {
		p, site := edge(wantsUpload), held()
		site.all[0].Labels = map[string]string{contract.LabelRelease: "true"}
		pr := run(p, 1)
		if state == corev1.ConditionFalse {
			ended(state, "Failed")(pr)
		}
		w := newWorld(t, site, []runtime.Object{p, pr, child(pr, contract.TaskSelectHosts, state, nil)}, nil)
		if err := w.visit(t, at); err != nil {
			checkError(t, err, "again")
		}
		if diff := cmp.Diff([]string{"host-1"}, site.released); diff != "" {
			t.Errorf("select-hosts is %s: released (-want +got):\n%s", state, diff)
		}
	}
}
