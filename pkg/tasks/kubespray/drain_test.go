package kubespray

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A PodDisruptionBudget blocks the drain of a node. The node is as before, the others leave, and the failure names
// the budget. The next attempt only drains that node.
func TestDrainThatIsBlocked(t *testing.T) {
	t.Parallel()
	l := newLiving(t, 3)
	l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 2}
	l.stuck["worker-2"] = true
	var b fakeBudget
	if err := json.Unmarshal([]byte(`{"metadata":{"namespace":"shop","name":"web"},"spec":{"selector":{"matchLabels":{"app":"shop"}}}}`), &b); err != nil {
		t.Fatal(err)
	}
	l.budgets = []fakeBudget{b}
	_, err := l.run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-2" {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	for _, want := range []string{"1 node removed: worker-1; worker-2 not drained yet. 2 pods did not leave node worker-2 within 2s: shop/web-2-0 (PodDisruptionBudget shop/web allows no disruption)", "accepts pods again",
		"kubectl describe pdb web -n shop", "spec.timeouts.drain"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q does not say %q", f.Message, want)
		}
	}
	did := slices.Compact(l.did)
	if diff := cmp.Diff([]string{"cordon worker-1", "cordon worker-2", "drain worker-1", "drain worker-2", "uncordon worker-2", "save worker-1", "remove-node.yml worker-1",
		"save worker-1", "clean worker-1", "authorize worker-1"}, did); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	l.expectMembers("master-1", "worker-2", "worker-3")

	l.did, l.stuck, l.in.Request.Remove.Nodes = nil, nil, []string{"worker-2"}
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectDid("cordon worker-2", "drain worker-2", "save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2")
	l.expectMembers("master-1", "worker-3")
}

// Two nodes are blocked: the failure names both.
func TestDrainsThatAreBlocked(t *testing.T) {
	t.Parallel()
	l := newLiving(t, 3)
	l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2", "worker-3"}, DrainSeconds: 1}
	l.stuck["worker-1"], l.stuck["worker-3"] = true, true
	_, err := l.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-1" || !slices.Equal(f.Others, []string{"worker-3"}) {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectMembers("master-1", "worker-1", "worker-3")
}

// A node that needs no drain leaves, although the only other one is blocked.
func TestDrainThatIsBlockedBesideADeadNode(t *testing.T) {
	t.Parallel()
	l := newLiving(t, 3)
	l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 1}
	l.in.Request.Lost, l.nodes["worker-1"], l.stuck["worker-2"] = []string{"worker-1"}, false, true
	if _, err := l.run(); task.FailureOf(err).Reason != contract.ReasonDrainBlocked || task.FailureOf(err).Host != "worker-2" {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectMembers("master-1", "worker-2", "worker-3")
}

// The time of a run is not enough for all drains. What is drained leaves, and the next run goes on.
func TestDrainsThatTakeLong(t *testing.T) {
	t.Parallel()
	l := newLiving(t, 3)
	l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 30, DrainsSeconds: 1}
	l.stuck["worker-1"] = true
	inner, begun := l.commands, time.Now()
	l.commands = func(command string, stdout, stderr io.Writer) (int, bool) {
		if strings.Contains(command, " drain worker-1") && time.Since(begun) > 2*time.Second {
			l.stuck["worker-1"] = false
		}
		return inner(command, stdout, stderr)
	}
	out, err := l.run()
	if err != nil || out.Recap != "1 node removed: worker-1; worker-2 not drained yet" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.log)
	}
	if l.cordoned["worker-2"] || len(l.now().Draining) > 0 {
		t.Errorf("cordoned %v, draining %v", l.cordoned, l.now().Draining)
	}
	l.expectMembers("master-1", "worker-2", "worker-3")
	l.in.Request.Remove.Nodes = []string{"worker-2"}
	if out, err = l.run(); err != nil || out.Recap != "1 node removed: worker-2" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.log)
	}
	l.expectMembers("master-1", "worker-3")
}

// A node that a user has cordoned stays cordoned if it cannot be drained.
func TestDrainOfACordonedNode(t *testing.T) {
	l := newLiving(t, 2)
	l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 1}
	l.cordoned["worker-1"], l.stuck["worker-1"], l.stuck["worker-2"] = true, true, true
	if _, err := l.run(); task.FailureOf(err).Reason != contract.ReasonDrainBlocked {
		t.Fatal(err)
	}
	if !l.cordoned["worker-1"] || l.cordoned["worker-2"] {
		t.Errorf("cordoned %v", l.cordoned)
	}
}

// A cancelled run leaves no node that accepts no pods.
func TestDrainThatIsCancelled(t *testing.T) {
	l := newLiving(t, 1)
	l.addPod("worker-1", "shop", "db-0", func(p *fakePod) { p.own("StatefulSet") })
	l.in.Request.Remove.Nodes = []string{"worker-1"}
	l.stuck["worker-1"] = true
	ctx, cancel := context.WithCancel(t.Context())
	inner := l.commands
	l.commands = func(command string, stdout, stderr io.Writer) (int, bool) {
		status, known := inner(command, stdout, stderr)
		if strings.Contains(command, " drain ") {
			cancel()
		}
		return status, known
	}
	if _, err := Run(ctx, l.in, l.ports()); err == nil {
		t.Fatal("no error")
	}
	l.expectDid("cordon worker-1", "drain worker-1", "uncordon worker-1")
	l.expectMembers("master-1", "worker-1")
}

// The pods of a node without a kubelet cannot end, so its drain does not wait for the time limit.
func TestDrainOfADeadNode(t *testing.T) {
	l := newLiving(t, 2)
	l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}, DrainSeconds: 2} // the node is dead after half of it
	l.nodes["worker-2"] = false
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectDid("cordon worker-2", "save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2")
	l.expectMembers("master-1", "worker-1")
	if !strings.Contains(l.log.String(), "node worker-2 is not Ready, so its pods cannot end") {
		t.Errorf("the log does not say why pods are lost:\n%s", &l.log)
	}
}

// Volumes that stay attached delay a removal, and do not block it.
func TestVolumesThatStayAttached(t *testing.T) {
	l := newLiving(t, 1)
	l.in.ProbeLimit, l.attached = 300*time.Millisecond, "worker-1"
	l.in.Request.Remove.Nodes = []string{"worker-1"}
	started := time.Now()
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	if waited := time.Since(started); waited < 600*time.Millisecond {
		t.Errorf("waited only %s", waited)
	}
	l.expectMembers("master-1")
}

// A removal that the user took back leaves no cordoned node, whatever run comes next.
func TestRemovalThatWasTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *living)
		did    []string
	}{
		"another node leaves": {func(l *living) { l.in.Request.Remove.Nodes = []string{"worker-1"} },
			[]string{"uncordon worker-2", "cordon worker-1", "drain worker-1", "save worker-1", "remove-node.yml worker-1", "save worker-1", "clean worker-1", "authorize worker-1"}},
		"nothing leaves": {func(*living) {}, []string{"uncordon worker-2"}},
		"nothing is added": {func(l *living) {
			l.in.Playbook, l.in.Request.Remove, l.in.Request.Operation = contract.PlaybookScale, nil, contract.OperationAddNodes
			l.stay(l.in.Nodes...)
		}, []string{"uncordon worker-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiving(t, 2)
			record := l.now()
			record.Draining = []string{"worker-2"}
			l.installed.Data[contract.KeyInstalled] = string(asJSON(t, record))
			tc.change(l)
			if _, err := l.run(); err != nil {
				t.Fatalf("%v\n%s", err, &l.log)
			}
			l.expectDid(tc.did...)
			if got := l.now().Draining; len(got) > 0 {
				t.Errorf("draining %v", got)
			}
		})
	}
}
