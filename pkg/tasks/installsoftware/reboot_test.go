package installsoftware

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A run that is killed after it has changed packages, and before their reboot, owes this reboot. The next run
// finds nothing else to change, and does it.
func TestRebootIsOwed(t *testing.T) {
	w := newFixture(t).wants("driver:Reboot")
	w.in.Request.Software.Nodes = []string{"worker-1"}
	ctx, cancel := context.WithCancel(t.Context())
	w.onPlay = func(name string, _ []string) {
		if name == "reboot.yml" {
			cancel()
			w.reboots = false
		}
	}
	if _, err := w.run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("a run that is killed: %v", err)
	}
	w.onPlay, w.reboots = nil, true
	again := []string{"look.yml " + all, "cordon worker-1", "drain worker-1", "apply.yml worker-1", "reboot.yml worker-1", "uncordon worker-1"}
	rows := []string{"master-1 driver Pending: the next one", "worker-1 driver Installed", "worker-2 driver Pending: the next one"}
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect(again, rows)
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all}, rows)
}

// A node that has booted again and is Ready must start a pod. Otherwise no other node is drained.
func TestANodeThatStartsNoPodAfterTheReboot(t *testing.T) {
	w := newFixture(t).wants("driver:Reboot")
	w.in.Request.Software.Nodes = []string{"worker-1", "worker-2"}
	w.podless = map[string]string{"worker-1": "FailedCreatePodSandBox: no plugin"}
	_, err := w.run(t.Context())
	if err == nil {
		t.Fatalf("steps %v", w.did)
	}
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-1" || !strings.Contains(f.Message, "starts no pod: FailedCreatePodSandBox: no plugin") {
		t.Errorf("failure %+v", f)
	}
	if slices.Contains(w.did, "drain worker-2") || !slices.Equal(w.started, []string{"worker-1"}) {
		t.Errorf("steps %v, pods on %v", w.did, w.started)
	}
}

// A node that the cluster does not have is left out, and the others are changed.
func TestNodeIsNotInTheCluster(t *testing.T) {
	w := newFixture(t).wants("driver:Drain")
	delete(w.states, "master-1")
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "cordon worker-1", "drain worker-1", "apply.yml worker-1", "uncordon worker-1",
		"cordon worker-2", "drain worker-2", "apply.yml worker-2", "uncordon worker-2"},
		[]string{"master-1 driver Pending: not Ready", "worker-1 driver Installed", "worker-2 driver Installed"})
}

// The task waits by itself if nothing else is set.
func TestDefaultPause(t *testing.T) {
	w := newFixture(t).wants("driver:Reboot")
	w.in.ReadyLimit, w.reboots, w.noPause = 50*time.Millisecond, false, true
	if _, err := w.run(t.Context()); reasonOf(err) != contract.ReasonClusterUnhealthy {
		t.Errorf("error %v", err)
	}
}

// A node that hangs during its change takes a limited time. The others are changed, and it is tried again later.
func TestNodeHangs(t *testing.T) {
	w := newFixture(t).wants("tool")
	w.hangs, w.in.Limits.Apply = "worker-1", 50*time.Millisecond
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.expect([]string{"look.yml " + all, "apply.yml " + all},
		[]string{"master-1 tool Installed", "worker-1 tool Pending: within 50ms", "worker-2 tool Installed"})
}
