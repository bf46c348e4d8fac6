package provisioning

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestSoftwareInDoubtRemovesNothing: a cluster keeps its packages while it is not certain that a Software has
// left it, and loses them when a user says so.
func TestSoftwareInDoubtRemovesNothing(t *testing.T) {
	w := withTools(t)
	w.settle(t)
	w.finishSoftware(t, "edge-1-software-2", true)
	w.settle(t)
	w.add(t, edge(func(p *v1alpha1.Provisioning) {
		p.Name, p.UID, p.Spec.Paused, p.Labels = "edge-2", "uid-2", true, map[string]string{v1alpha1.LabelCluster: "line"}
	}), true)
	w.putSoftware(t, tools(func(s *v1alpha1.Software) {
		s.Generation, s.Spec.Cluster, s.Status.Cluster = 2, "line", name
	}))
	w.settle(t)
	if w.runNamed(t, "edge-1-software-3") != nil {
		t.Fatalf("a run starts with %+v", w.softwareRequest(t).Software)
	}
	w.putSoftware(t, tools(func(s *v1alpha1.Software) {
		s.Generation, s.Spec.Cluster, s.Status.Cluster = 3, "edge-2", name
	}))
	w.settle(t)
	if w.runNamed(t, "edge-1-software-3") == nil {
		t.Fatalf("no run removes the packages; status.software is %+v", w.stored(t).Status.Software)
	}
	if got := w.softwareRequest(t).Software; len(got.Packages) != 0 || len(got.Nodes) != 1 {
		t.Errorf("the run does %+v", got)
	}
}

// putSoftware replaces a Software in the cache.
func (w *fixture) putSoftware(t *testing.T, s *v1alpha1.Software) {
	t.Helper()
	if err := w.caches["software"].Update(s); err != nil {
		t.Fatal(err)
	}
}
