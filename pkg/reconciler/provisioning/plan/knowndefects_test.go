package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestKnownDefectL8: a lost record of a cluster that became smaller, and whose plugins or version changed
// after that, is rebuilt.
func TestKnownDefectL8(t *testing.T) {
	for name, change := range map[string]string{"a run for plugins": "plugins multus", "an upgrade": "edit version 1.35.4"} {
		t.Run(name, func(t *testing.T) {
			w := installedScene(t, "version 1.34.3", "set w 2 0")
			w.tell(t, "edit set w 1 0", "done")
			w.finish(t)
			w.tell(t, change)
			w.finish(t)
			want := names(w.seen.Memory.Nodes)
			if len(want) != 3 {
				t.Fatalf("the cluster has the nodes %v", want)
			}
			knowndefect.Expect(t, "L8", func(should testing.TB) {
				w.tell(t, "record lost")
				if w.seen.Memory == nil {
					should.Fatalf("the record of %v is not rebuilt", want)
				}
				if diff := cmp.Diff(want, names(w.seen.Memory.Nodes)); diff != "" {
					should.Errorf("the rebuilt record (-want +got):\n%s", diff)
				}
			})
			w.seen.Memory, w.seen.Rebuilt = recordFrom(t, w.seen.Started), false
			w.describe()
			w.finish(t)
			if diff := cmp.Diff(want, names(w.seen.Memory.Nodes)); diff != "" || !w.p.Status.IsReady() || w.seen.Memory.EtcdNext != 2 {
				t.Errorf("the workaround: Ready %t, nodes (-want +got):\n%s", w.p.Status.IsReady(), diff)
			}
		})
	}
}

// recordFrom makes the record from the request of the last run, as the page does with jq.
func recordFrom(t *testing.T, last contract.Request) *contract.Installed {
	t.Helper()
	text, err1 := json.Marshal(last)
	var request map[string]any
	err2 := json.Unmarshal(text, &request)
	record := map[string]any{"request": request, "nodes": request["members"], "etcdNext": request["etcdNext"], "patched": request["patched"]}
	for _, field := range []string{"members", "operation", "upgrade", "remove"} {
		delete(request, field)
	}
	text, err3 := json.Marshal(record)
	var installed contract.Installed
	if err := errors.Join(err1, err2, err3, json.Unmarshal(text, &installed)); err != nil {
		t.Fatal(err)
	}
	return &installed
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

// TestKnownDefectL15: a run for Softwares that is stopped at its time limit is repeated as long as each run
// processes nodes.
func TestKnownDefectL15(t *testing.T) {
	nodes := []string{"master-1", "worker-1", "worker-2", "worker-3", "worker-4", "worker-5"}
	w := installedScene(t, "history 9", "nodes "+strings.Join(nodes, " "))
	w.tell(t, "software driver=1")
	knowndefect.Expect(t, "L15", func(should testing.TB) {
		for _, node := range nodes {
			if w.last.Do != StartRun {
				should.Fatalf("no run installs the packages of %s: %s; each run before it has processed a node", node, describeStep(w.last))
			}
			w.tell(t, "starts", "software-installed "+node, "run fails PipelineRunTimeout", "wait 5m")
		}
	})
	w.tell(t, "retry now")
	if w.last.Do != StartRun || w.last.Attempt != 1 {
		t.Errorf("the workaround starts no run: %s", w.describe())
	}
}

// TestKnownDefectL18: a month after the last change, at most two runs of each operation are left.
func TestKnownDefectL18(t *testing.T) {
	w := installedScene(t, "history 5")
	for n := range 6 {
		w.tell(t, fmt.Sprintf("plugins multus:%d", n))
		w.finish(t)
	}
	kept := map[string]int{}
	knowndefect.Expect(t, "L18", func(should testing.TB) {
		w.tell(t, "wait 720h", "advance")
		for _, r := range w.seen.Runs {
			kept[r.Operation]++
		}
		for operation, n := range kept {
			if n > 2 {
				should.Errorf("%d runs to %s are left, the newest a month old", n, operation)
			}
		}
	})
	w.seen.Limits.History = 2 // run-history in ConfigMap config-bpa
	w.describe()
	if w.advance(t); len(w.seen.Runs) > 2 {
		t.Errorf("the workaround leaves %d runs", len(w.seen.Runs))
	}
}
