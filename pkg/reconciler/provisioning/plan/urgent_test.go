package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// sevenNodes returns a scene of an installed cluster with three control planes and four workers, and a Backup of it.
func sevenNodes(t *testing.T) *scene {
	t.Helper()
	w := installedScene(t, "nodes master-1 master-2 master-3 worker-1 worker-2 worker-3 worker-4", "policy-replace Any", "batches 3", "version 1.34.3", "release v2.31.0")
	w.tell(t, "backup nightly")
	return w
}

// starts edits the spec and starts the run that follows, and returns its name.
func (w *scene) starts(t *testing.T, edit, operation string) string {
	t.Helper()
	w.edited(edit)
	w.tell(t, edit, "advance")
	for w.last.Do == StartRun && w.last.Operation != operation { // as the control planes of an upgrade
		w.tell(t, "done")
		w.advance(t)
	}
	if w.last.Do != StartRun {
		t.Fatalf("no run starts: %s", w.describe())
	}
	w.tell(t, "starts")
	if got := w.seen.Newest(); got.State != Active || got.Operation != operation {
		t.Fatalf("run %s is in state %v", got.Name, got.State)
	}
	return w.seen.Newest().Name
}

// Runs that remove or upgrade nodes.
var removes, upgrades = "nodes master-1 master-2 master-3 worker-1", "version 1.35.4"

// A run that removes or upgrades nodes ends for the replacement of a control plane, which starts next. Its rest is done
// after that, by a first attempt.
func TestRunEndsForALostControlPlane(t *testing.T) {
	for edit, operation := range map[string]string{removes: contract.OperationRemoveNodes, upgrades: contract.OperationUpgradeNodes} {
		t.Run(operation, func(t *testing.T) {
			w := sevenNodes(t)
			run := w.starts(t, edit, operation)
			if w.last.Do != Stay {
				t.Fatalf("the run is not waited for: %s", describeStep(w.last))
			}
			w.tell(t, "host host-2 gone")
			if w.last.Do != EndRun || !slices.Equal(w.last.Runs, []string{run}) || !strings.Contains(w.last.Message, "replace master-2") {
				t.Fatalf("the lost control plane waits for the end of the run: %s", describeStep(w.last))
			}
			if c := w.p.Status.GetCondition(v1alpha1.ConditionStalled); c != nil {
				t.Errorf("Stalled is %s %s, but the control plane is replaced after the run", c.Status, c.Reason)
			}
			w.seen.Ends = run
			if w.describe(); w.last.Do != Stay || w.last.Reason != ReasonRunning || w.p.Status.GetCondition(v1alpha1.ConditionStalled) != nil {
				t.Errorf("the run is asked again, or the cluster is stalled: %s", w.describe())
			}
			w.part(t)
			if w.advance(t); w.last.Do != StartRun || w.last.Attempt != 1 || !slices.Equal(w.last.Replaces, []string{"master-2=host-2"}) {
				t.Fatalf("the control plane is not replaced: %s", w.describe())
			}
			if w.p.Status.Failure != nil {
				t.Errorf("the run has failed: %+v", w.p.Status.Failure)
			}
			w.tell(t, "done")
			if w.advance(t); w.last.Do != StartRun || w.last.Operation != operation || w.last.Attempt != 1 {
				t.Fatalf("the rest is not done: %s", w.describe())
			}
			w.finish(t)
			if _, changes := w.seen.nextChange(); changes || !w.p.Status.IsReady() {
				t.Errorf("the cluster is not the requested one: %s", w.describe())
			}
		})
	}
}

// part ends the run with success after the first of its nodes.
func (w *scene) part(t *testing.T) {
	t.Helper()
	if r := w.seen.Started.Remove; r != nil {
		w.seen.Started.Remove = &contract.Removal{Nodes: r.Nodes[:1], DrainSeconds: r.DrainSeconds}
	}
	if u := w.seen.Started.Upgrade; u != nil {
		one := *u
		one.Nodes = u.Nodes[:1]
		w.seen.Started.Upgrade = &one
	}
	w.tell(t, "done")
}

// A run that removes or upgrades nodes ends for a restore.
func TestRunEndsForARestore(t *testing.T) {
	for edit, operation := range map[string]string{removes: contract.OperationRemoveNodes, upgrades: contract.OperationUpgradeNodes} {
		w := sevenNodes(t)
		run := w.starts(t, edit, operation)
		w.tell(t, "restore nightly")
		if w.last.Do == EndRun {
			t.Errorf("%s: the run ends for a restore that is refused: %s", operation, describeStep(w.last))
		}
		w.tell(t, "restore nightly force")
		if w.last.Do != EndRun || !slices.Equal(w.last.Runs, []string{run}) {
			t.Fatalf("%s: the restore waits for the end of the run: %s", operation, describeStep(w.last))
		}
		w.seen.Ends = run
		w.part(t)
		if w.advance(t); w.last.Do != StartRun || w.last.Operation != contract.OperationRestore {
			t.Errorf("%s: the restore does not start: %s", operation, w.describe())
		}
	}
}

// What is not urgent, or cannot start, does not end the run. The history of runs, which has one too many if the run has
// ended, makes no difference.
func TestRunGoesOn(t *testing.T) {
	for name, lines := range map[string][]string{
		"an edit":                             {"vars kubelet_max_pods=99"},
		"a lost worker":                       {"host host-7 gone"},
		"no host for a lost control plane":    {"hosts no host fits", "host host-2 gone"},
		"no replacement for a control plane":  {"policy-replace Never", "host host-2 gone"},
		"a Backup that is being made":         {"backing-up nightly", "host host-2 gone"},
		"a restore of a Backup that is gone":  {"restore weekly force"},
		"a control plane of a paused cluster": {"paused yes", "host host-2 gone"},
	} {
		w := sevenNodes(t)
		w.starts(t, removes, contract.OperationRemoveNodes)
		if w.tell(t, lines...); w.last.Do != Stay || w.last.Reason != ReasonRunning {
			t.Errorf("%s: %s", name, describeStep(w.last))
		}
	}
	w := sevenNodes(t)
	w.starts(t, removes, contract.OperationRemoveNodes)
	w.seen.Limits.History = 1
	if w.tell(t, "host host-2 gone"); w.last.Do != EndRun {
		t.Errorf("with a short history: %s", describeStep(w.last))
	}
}

// A run of another operation, or one that is being cancelled, is not asked to end: it is at its only node, or it ends
// anyway.
func TestOtherRunsAreNotAsked(t *testing.T) {
	w := sevenNodes(t)
	w.starts(t, removes, contract.OperationRemoveNodes)
	if w.tell(t, "cancelling", "host host-2 gone"); w.last.Do == EndRun {
		t.Errorf("a run that is being cancelled: %s", describeStep(w.last))
	}
	w = sevenNodes(t)
	w.starts(t, removes+" worker-2 worker-3 worker-4 worker-5", contract.OperationAddNodes)
	if w.tell(t, "host host-2 gone"); w.last.Do == EndRun {
		t.Errorf("a run that adds nodes: %s", describeStep(w.last))
	}
}
