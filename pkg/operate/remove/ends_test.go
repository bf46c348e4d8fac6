package remove_test

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// A run that is asked to end between two drains removes what is drained, and leaves the other nodes as they are. It
// does not wait for a control plane that fails meanwhile: that is why it ends. A later run removes the rest.
func TestAnotherChangeComesFirst(t *testing.T) {
	t.Parallel()
	l := kubespraytest.NewLiving(t, 4)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2", "worker-3"}, DrainSeconds: 30}
	set := func(run string) {
		if err := l.Progress.Set(t.Context(), contract.KeyEnds, run); err != nil {
			t.Error(err)
		}
	}
	set("another-run")
	l.On("evict pods web-1-0", func(apitest.Call) error {
		set(l.In.Run)
		l.Mu.Lock()
		defer l.Mu.Unlock()
		l.Nodes["worker-4"] = false // a node that the run does not concern
		return nil
	})
	out, err := l.Run()
	if err != nil || out.Recap != "1 node removed: worker-1; another change comes first, so these wait: worker-2, worker-3" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.Log)
	}
	l.ExpectDid("cordon worker-1", "cordon worker-2", "cordon worker-3", "drain worker-1", "uncordon worker-2", "uncordon worker-3",
		"save worker-1", "remove-node.yml worker-1", "save worker-1", "clean worker-1", "authorize worker-1")
	l.ExpectMembers("master-1", "worker-2", "worker-3", "worker-4")
	if l.Cordoned["worker-2"] || len(l.Now().Draining)+len(l.Now().Leaving) > 0 {
		t.Errorf("cordoned %v, draining %v, leaving %v", l.Cordoned, l.Now().Draining, l.Now().Leaving)
	}
	l.Nodes["worker-4"], l.In.Request.Remove.Nodes, l.In.Run = true, []string{"worker-2", "worker-3"}, "the-next-run"
	if out, err = l.Run(); err != nil || out.Recap != "2 nodes removed: worker-2, worker-3" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.Log)
	}
	l.ExpectMembers("master-1", "worker-4")
}

// A run that is asked before its first drain changes nothing, and does not fail.
func TestAnotherChangeComesBeforeTheFirstDrain(t *testing.T) {
	t.Parallel()
	l := kubespraytest.NewLiving(t, 2)
	l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 30}
	if err := l.Progress.Set(t.Context(), contract.KeyEnds, l.In.Run); err != nil {
		t.Fatal(err)
	}
	out, err := l.Run()
	if err != nil || out.Recap != "no node was removed; another change comes first, so these wait: worker-1, worker-2" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.Log)
	}
	l.ExpectDid()
	l.ExpectMembers("master-1", "worker-1", "worker-2")
}
