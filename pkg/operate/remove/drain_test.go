package remove_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A PodDisruptionBudget blocks the drain of a node. The node is as before, the others leave, and the failure names
// the budget. The next attempt only drains that node.
func TestDrainThatIsBlocked(t *testing.T) {
	t.Parallel()
	l := kubespraytest.NewLiving(t, 3)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 2}
	l.Stuck["worker-2"] = true
	l.Budgets = append(l.Budgets, kubespraytest.Budget("shop", "web", "shop"))
	_, err := l.Run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-2" {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	for _, want := range []string{"1 node removed: worker-1; worker-2 not drained yet. 2 pods did not leave node worker-2 within 2s: shop/web-2-0 (PodDisruptionBudget shop/web allows no disruption)", "accepts pods again",
		"kubectl describe pdb web -n shop", "spec.timeouts.drain"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q does not say %q", f.Message, want)
		}
	}
	did := slices.Compact(l.Did)
	if diff := cmp.Diff([]string{"cordon worker-1", "cordon worker-2", "drain worker-1", "drain worker-2", "uncordon worker-2", "save worker-1", "remove-node.yml worker-1",
		"save worker-1", "clean worker-1", "authorize worker-1"}, did); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	l.ExpectMembers("master-1", "worker-2", "worker-3")

	l.Did, l.Stuck, l.In.Request.Remove.Nodes = nil, nil, []string{"worker-2"}
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectDid("cordon worker-2", "drain worker-2", "save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2")
	l.ExpectMembers("master-1", "worker-3")
}

// Two nodes are blocked: the failure names both.
func TestDrainsThatAreBlocked(t *testing.T) {
	t.Parallel()
	l := kubespraytest.NewLiving(t, 3)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2", "worker-3"}, DrainSeconds: 1}
	l.Stuck["worker-1"], l.Stuck["worker-3"] = true, true
	_, err := l.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-1" || !slices.Equal(f.Others, []string{"worker-3"}) {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectMembers("master-1", "worker-1", "worker-3")
}

// A node that needs no drain leaves, although the only other one is blocked.
func TestDrainThatIsBlockedBesideADeadNode(t *testing.T) {
	t.Parallel()
	l := kubespraytest.NewLiving(t, 3)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 1}
	l.In.Request.Lost, l.Nodes["worker-1"], l.Stuck["worker-2"] = []string{"worker-1"}, false, true
	if _, err := l.Run(); task.FailureOf(err).Reason != contract.ReasonDrainBlocked || task.FailureOf(err).Host != "worker-2" {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectMembers("master-1", "worker-2", "worker-3")
}

// The time of a run is not enough for all drains. What is drained leaves, and the next run goes on.
func TestDrainsThatTakeLong(t *testing.T) {
	t.Parallel()
	l := kubespraytest.NewLiving(t, 3)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 30, DrainsSeconds: 1}
	l.Stuck["worker-1"] = true
	begun := time.Now()
	l.On("evict pods", func(apitest.Call) error {
		l.Mu.Lock()
		defer l.Mu.Unlock()
		l.Stuck["worker-1"] = time.Since(begun) <= 2*time.Second
		return nil
	})
	out, err := l.Run()
	if err != nil || out.Recap != "1 node removed: worker-1; worker-2 not drained yet" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.Log)
	}
	if l.Cordoned["worker-2"] || len(l.Now().Draining) > 0 {
		t.Errorf("cordoned %v, draining %v", l.Cordoned, l.Now().Draining)
	}
	l.ExpectMembers("master-1", "worker-2", "worker-3")
	l.In.Request.Remove.Nodes = []string{"worker-2"}
	if out, err = l.Run(); err != nil || out.Recap != "1 node removed: worker-2" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.Log)
	}
	l.ExpectMembers("master-1", "worker-3")
}

// A node that a user has cordoned stays cordoned if it cannot be drained.
func TestDrainOfACordonedNode(t *testing.T) {
	l := kubespraytest.NewLiving(t, 2)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 1}
	l.Cordoned["worker-1"], l.Stuck["worker-1"], l.Stuck["worker-2"] = true, true, true
	if _, err := l.Run(); task.FailureOf(err).Reason != contract.ReasonDrainBlocked {
		t.Fatal(err)
	}
	if !l.Cordoned["worker-1"] || l.Cordoned["worker-2"] {
		t.Errorf("cordoned %v", l.Cordoned)
	}
}

// A cancelled run leaves no node that accepts no pods.
func TestDrainThatIsCancelled(t *testing.T) {
	l := kubespraytest.NewLiving(t, 1)
	l.AddPod("worker-1", "shop", "db-0", kubespraytest.Own("StatefulSet"))
	l.In.Request.Remove.Nodes = []string{"worker-1"}
	l.Stuck["worker-1"] = true
	ctx, cancel := context.WithCancel(t.Context())
	l.On("evict pods", func(apitest.Call) error { cancel(); return nil })
	if _, err := kubespray.Run(ctx, l.In, l.Ports()); err == nil {
		t.Fatal("no error")
	}
	l.ExpectDid("cordon worker-1", "drain worker-1", "uncordon worker-1")
	l.ExpectMembers("master-1", "worker-1")
}

// The pods of a node without a kubelet cannot end, so its drain does not wait for the time limit.
func TestDrainOfADeadNode(t *testing.T) {
	l := kubespraytest.NewLiving(t, 2)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}, DrainSeconds: 2} // the node is dead after half of it
	l.Nodes["worker-2"] = false
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectDid("cordon worker-2", "save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2")
	l.ExpectMembers("master-1", "worker-1")
	if !strings.Contains(l.Log.String(), "node worker-2 is not Ready, so its pods cannot end") {
		t.Errorf("the log does not say why pods are lost:\n%s", &l.Log)
	}
}

// Volumes that stay attached delay a removal, and do not block it.
func TestVolumesThatStayAttached(t *testing.T) {
	l := kubespraytest.NewLiving(t, 1)
	l.In.ProbeLimit, l.Attached = time.Second, "worker-1"
	l.In.Request.Remove.Nodes = []string{"worker-1"}
	started := time.Now()
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	if waited := time.Since(started); waited < 2*time.Second {
		t.Errorf("waited only %s", waited)
	}
	l.ExpectMembers("master-1")
}

// A removal that the user took back leaves no cordoned node, whatever run comes next.
func TestRemovalThatWasTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *kubespraytest.Living)
		did    []string
	}{
		"another node leaves": {func(l *kubespraytest.Living) { l.In.Request.Remove.Nodes = []string{"worker-1"} },
			[]string{"uncordon worker-2", "cordon worker-1", "drain worker-1", "save worker-1", "remove-node.yml worker-1", "save worker-1", "clean worker-1", "authorize worker-1"}},
		"nothing leaves": {func(*kubespraytest.Living) {}, []string{"uncordon worker-2"}},
		"nothing is added": {func(l *kubespraytest.Living) {
			l.In.Playbook, l.In.Request.Remove, l.In.Request.Operation = contract.PlaybookScale, nil, contract.OperationAddNodes
			l.Stay(l.In.Nodes...)
		}, []string{"uncordon worker-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := kubespraytest.NewLiving(t, 2)
			record := l.Now()
			record.Draining, l.Cordoned["worker-2"] = []string{"worker-2"}, true
			l.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
			tc.change(l)
			if _, err := l.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &l.Log)
			}
			l.ExpectDid(tc.did...)
			if got := l.Now().Draining; len(got) > 0 {
				t.Errorf("draining %v", got)
			}
		})
	}
}
