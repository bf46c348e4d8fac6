package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/knowndefect"
)

// The stories in this file are those of docs/known-defects.md that need only decisions.

// tell makes events happen, each as a line of a story, and shows the controller the world after each of
// them.
func (w *scene) tell(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		w.happen(t, strings.Fields(line))
		w.describe()
	}
}

// installedScene returns a scene in which a cluster was installed after these events.
func installedScene(t *testing.T, before ...string) *scene {
	t.Helper()
	w := newScene()
	w.tell(t, append(before, "cluster")...)
	if w.last.Do != Stay || !w.p.Status.IsReady() {
		t.Fatalf("the cluster is not installed: %s", w.describe())
	}
	return w
}

// names returns the names of nodes, sorted.
func names(nodes []contract.Node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	return all
}

// finish plays the next runs to their ends until the cluster is the requested one.
func (w *scene) finish(t *testing.T) {
	t.Helper()
	for range 20 {
		if w.advance(t); w.last.Do != StartRun {
			return
		}
		w.tell(t, "done")
	}
	t.Fatalf("the cluster never becomes the requested one: %s", w.describe())
}

// TestKnownDefectL13: a run for Softwares does not hold up what is urgent, and the status does not say that
// nothing continues.
func TestKnownDefectL13(t *testing.T) {
	begin := func() *scene {
		w := installedScene(t, "nodes master-1 master-2 master-3 worker-1", "policy-replace Any")
		w.tell(t, "software driver=1", "starts", "host host-2 gone")
		return w
	}
	w := begin()
	knowndefect.Expect(t, "L13", func(should testing.TB) {
		if c := w.p.Status.GetCondition(v1alpha1.ConditionStalled); c != nil {
			should.Errorf("Stalled is %s %s, but the control plane is replaced after the run", c.Status, c.Reason)
		}
		if w.last.Do == Stay {
			should.Errorf("the lost control plane waits for the end of the run for Softwares: %s", describeStep(w.last))
		}
	})
	w.tell(t, "run fails Cancelled", "advance")
	if w.last.Do != StartRun || !slices.Equal(w.last.Replaces, []string{"master-2=host-2"}) {
		t.Errorf("the workaround replaces no control plane: %s", w.describe())
	}
}
