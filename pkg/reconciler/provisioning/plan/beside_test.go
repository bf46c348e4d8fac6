package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

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

// A run for Softwares does not hold up the replacement of a control plane: it ends after its batch, and goes on later.
func TestSoftwareEndsForALoss(t *testing.T) {
	w := installedScene(t, "nodes master-1 master-2 master-3 worker-1", "policy-replace Any")
	w.tell(t, "software driver=1", "starts", "host host-2 gone")
	first := w.seen.Software.Newest().Name
	if c := w.p.Status.GetCondition(v1alpha1.ConditionStalled); c != nil {
		t.Errorf("Stalled is %s %s, but the control plane is replaced after the run", c.Status, c.Reason)
	}
	if w.last.Do != EndRun || !slices.Equal(w.last.Runs, []string{first}) || !strings.Contains(w.last.Message, "replace master-2") {
		t.Fatalf("the lost control plane waits for the end of the run for Softwares: %s", describeStep(w.last))
	}
	w.seen.Software.Ends = first
	if w.describe(); w.last.Do != Stay || w.last.Reason != ReasonRunning || w.p.Status.GetCondition(v1alpha1.ConditionStalled) != nil {
		t.Errorf("the run is asked again, or the cluster is stalled: %s", w.describe())
	}
	w.tell(t, "run succeeds", "advance")
	if w.last.Do != StartRun || !slices.Equal(w.last.Replaces, []string{"master-2=host-2"}) {
		t.Fatalf("the control plane is not replaced: %s", w.describe())
	}
	w.tell(t, "starts", "done")
	if w.advance(t); w.last.Do != StartRun || w.last.Operation != contract.OperationSoftware || w.last.Attempt != 1 {
		t.Errorf("the run for Softwares does not go on: %s", w.describe())
	}
}

// A loss that no host can replace does not end the run for Softwares.
func TestSoftwareGoesOnWithoutAHost(t *testing.T) {
	w := installedScene(t, "nodes master-1 worker-1 worker-2", "policy-replace Any")
	w.tell(t, "software driver=1", "starts", "hosts no host fits", "host host-2 gone")
	if w.last.Do == EndRun {
		t.Errorf("the run ends for a replacement that cannot start: %s", describeStep(w.last))
	}
}
