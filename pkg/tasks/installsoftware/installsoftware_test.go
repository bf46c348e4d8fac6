package installsoftware

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func (w *fixture) expect(did, rows []string) {
	w.t.Helper()
	if diff := cmp.Diff(did, w.did); diff != "" {
		w.t.Errorf("steps (-want +got):\n%s\n%s", diff, &w.log)
	}
	var got []string
	for i, row := range w.rows() { // a message counts as equal if it has the wanted part
		if i < len(rows) {
			want, part, ok := strings.Cut(rows[i], ": ")
			if state, message, _ := strings.Cut(row, ": "); ok && state == want && strings.Contains(message, part) {
				row = rows[i]
			}
		}
		got = append(got, row)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		w.t.Errorf("record (-want +got):\n%s", diff)
	}
}

const all = "master-1,worker-1,worker-2"

// Packages without a disruption need no API server. A missing one stops no other.
func TestInstall(t *testing.T) {
	w := newFixture(t).wants("none", "tool:None")
	w.in.Request.Software.Asked = "now"
	out, err := w.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "apply.yml " + all}, []string{
		"master-1 none Failed: package none does not exist", "master-1 tool Installed", "worker-1 none Failed: package none does not exist", "worker-1 tool Installed",
		"worker-2 none Failed: package none does not exist", "worker-2 tool Installed"})
	if out.Summary != "3 nodes: 3 packages installed, 3 failed" || w.entered != 0 || !strings.Contains(w.record.data[contract.KeySoftware], `"asked":"now"`) {
		t.Errorf("%+v, %d entries, %s", out, w.entered, w.record.data[contract.KeySoftware])
	}
	w.in.Request.Software.Asked = ""
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.did, []string{"look.yml " + all}) {
		t.Errorf("a second run: %v", w.did)
	}
	w.wants()
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "apply.yml " + all}, nil)
}

// A node that does not answer is caught up by a later run. A lost node is not asked.
func TestSilentNode(t *testing.T) {
	w := newFixture(t).wants("tool")
	w.silent["worker-1"] = true
	w.in.Request.Lost = []string{"worker-2"}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml master-1,worker-1", "apply.yml master-1"}, []string{"master-1 tool Installed", "worker-1 tool Pending: could not be read"})
	if text := w.record.data[contract.KeySoftware]; !strings.Contains(text, "does not answer by SSH: no route") {
		t.Errorf("record %s", text)
	}
	w.silent["worker-1"] = false
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml master-1,worker-1", "apply.yml worker-1"}, []string{"master-1 tool Installed", "worker-1 tool Installed"})

	// it stops to answer between the look and the change
	w.wants("tool", "more")
	w.onPlay = func(name string, _ []string) { w.silent["worker-1"] = name == "apply.yml" }
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml master-1,worker-1", "apply.yml master-1,worker-1"},
		[]string{"master-1 more Installed", "master-1 tool Installed", "worker-1 more Pending: does not answer by SSH", "worker-1 tool Installed"})
}

func TestDrainAndReboot(t *testing.T) {
	w := newFixture(t).wants("driver:Reboot")
	w.in.Request.Software.Batch = 2
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all,
		"cordon master-1", "drain master-1", "apply.yml master-1", "reboot.yml master-1", "uncordon master-1",
		"cordon worker-1", "cordon worker-2", "drain worker-1", "drain worker-2", "apply.yml worker-1,worker-2", "reboot.yml worker-1,worker-2", "uncordon worker-1", "uncordon worker-2"},
		[]string{"master-1 driver Installed", "worker-1 driver Installed", "worker-2 driver Installed"})
	if w.entered != 1 || w.left != 1 || w.record.data[keyCordoned] != "null" {
		t.Errorf("%d entries, %d left, cordoned %s", w.entered, w.left, w.record.data[keyCordoned])
	}
	w.wants() // the removal needs the same
	w.in.Request.Software.Nodes = []string{"worker-1"}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "cordon worker-1", "drain worker-1", "apply.yml worker-1", "reboot.yml worker-1", "uncordon worker-1"},
		[]string{"master-1 driver Pending: next run removes it", "worker-2 driver Pending: next run removes it"})
}

// A package that fails causes no reboot. A drain that fails refuses the changes of its node only.
func TestDrainFails(t *testing.T) {
	w := newFixture(t).wants("driver:Reboot")
	w.fails["driver"] = "no such device"
	w.drains["master-1"] = errors.New("budget web allows no eviction")
	w.states["worker-2"] = State{Boot: "boot-1"}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "cordon master-1", "drain master-1", "uncordon master-1",
		"cordon worker-1", "drain worker-1", "apply.yml worker-1", "uncordon worker-1"},
		[]string{"master-1 driver Failed: budget web", "worker-1 driver Failed: no such device", "worker-2 driver Pending: not Ready"})
}

// If a node fails before the first drain, no node is drained. The reconciler retries this.
func TestNodeFailsBeforeTheDrain(t *testing.T) {
	w := newFixture(t).wants("driver:Drain")
	w.onStates = func(calls int) {
		if calls > 1 {
			w.states["worker-2"] = State{Boot: "boot-1"}
		}
	}
	_, err := w.run(t.Context())
	var failure *task.Error
	if !errors.As(err, &failure) || failure.Reason != contract.ReasonClusterUnhealthy || failure.Step != contract.StepBeforeDrain || !strings.Contains(err.Error(), "worker-2. No node was drained") {
		t.Errorf("error %v", err)
	}
	w.expect([]string{"look.yml " + all}, []string{"master-1 driver Pending: waits for its turn", "worker-1 driver Pending: waits for its turn", "worker-2 driver Pending: waits for its turn"})
}

// After a node that does not come back, no other node is drained. The rest follows in the next run.
func TestNodeIsLostInItsReboot(t *testing.T) {
	w := newFixture(t).wants("driver:Reboot")
	w.in.Request.Software.Asked = "1 update"
	w.reboots = false // the kubelet has not reported from another boot
	_, err := w.run(t.Context())
	if reasonOf(err) != contract.ReasonClusterUnhealthy || !strings.Contains(err.Error(), "not Ready within 5s: master-1") {
		t.Errorf("error %v", err)
	}
	w.expect([]string{"look.yml " + all, "cordon master-1", "drain master-1", "apply.yml master-1", "reboot.yml master-1", "uncordon master-1"},
		[]string{"master-1 driver Installed", "worker-1 driver Pending: waits for its turn", "worker-2 driver Pending: waits for its turn"})
	if w.left != 1 {
		t.Error("the access stays open")
	}
	if text := w.record.data[contract.KeySoftware]; !strings.Contains(text, `"asked":"1 update"`) {
		t.Errorf("the request stays for later changes: %s", text)
	}
}

// A run that was killed has left a cordoned node; nothing is to be drained any more.
func TestKilledRun(t *testing.T) {
	w := newFixture(t).wants("tool")
	w.record.data = map[string]string{keyCordoned: `["worker-1"]`}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "apply.yml " + all, "uncordon worker-1"}, []string{"master-1 tool Installed", "worker-1 tool Installed", "worker-2 tool Installed"})
}

// Only the nodes of the run are changed, and none if it only checks.
func TestOtherNodes(t *testing.T) {
	w := newFixture(t).wants("tool")
	w.in.Request.Software.Nodes = []string{"worker-2"}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "apply.yml worker-2"}, []string{"master-1 tool Pending: the next one", "worker-1 tool Pending: the next one", "worker-2 tool Installed"})
	w.in.Request.Software.CheckOnly, w.in.Request.Software.Nodes = true, []string{"worker-1"}
	if _, err := w.run(t.Context()); err != nil || !slices.Equal(w.did, []string{"look.yml " + all}) {
		t.Errorf("a check: %v, %v", w.did, err)
	}
}

func TestFailures(t *testing.T) {
	w := newFixture(t)
	w.record.err = apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "edge-1-software")
	if _, err := w.run(t.Context()); reasonOf(err) != contract.ReasonVersionSkew {
		t.Errorf("without a ConfigMap: %v", err)
	}
	w = newFixture(t)
	w.in.Request.Software = nil
	if _, err := w.run(t.Context()); reasonOf(err) != contract.ReasonInvalidRequest {
		t.Errorf("without software: %v", err)
	}
	w = newFixture(t).wants("driver:Drain")
	ctx, cancel := context.WithCancel(t.Context())
	w.onPlay = func(name string, _ []string) {
		if name == "apply.yml" {
			cancel()
		}
	}
	if _, err := w.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if last := w.did[len(w.did)-1]; last != "uncordon master-1" {
		t.Errorf("steps of a cancelled run: %v", w.did)
	}
}

func TestBatches(t *testing.T) {
	w := newFixture(t)
	slices.Reverse(w.in.Nodes)
	var got []string
	for _, b := range batches(w.in.Nodes, 2) {
		got = append(got, names(b))
	}
	if diff := cmp.Diff([]string{"master-1", "worker-2, worker-1"}, got); diff != "" {
		t.Error(diff)
	}
}

// A run that is asked to end changes no other batch, and says so. A request for another run has no effect.
func TestAnotherChangeComesFirst(t *testing.T) {
	w := newFixture(t).wants("driver:Drain")
	w.in.Run = "edge-1-software-3"
	asks := func(run string) {
		if err := w.record.Set(t.Context(), contract.KeyEnds, run); err != nil {
			t.Error(err)
		}
	}
	asks("edge-1-software-2")
	w.onPlay = func(name string, nodes []string) {
		if name == "apply.yml" && slices.Contains(nodes, "master-1") {
			asks("edge-1-software-3")
		}
	}
	out, err := w.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "cordon master-1", "drain master-1", "apply.yml master-1", "uncordon master-1"},
		[]string{"master-1 driver Installed", "worker-1 driver Pending: waits for its turn", "worker-2 driver Pending: waits for its turn"})
	if !strings.HasSuffix(out.Summary, "; another change comes first, so these wait: worker-1, worker-2") {
		t.Errorf("summary %q", out.Summary)
	}
}
