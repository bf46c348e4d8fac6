package kubespray

import (
	"slices"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
	"github.com/akraino-icn/bpa/test/knowndefect"
)

// TestKnownDefectL7: a node that was drained for its removal is not drained again by the next attempt, although
// another node of the same removal could not be drained.
func TestKnownDefectL7(t *testing.T) {
	t.Parallel()
	blocked := func(leave ...string) (*living, error) {
		l := newLiving(t, 3)
		l.in.Request.Remove = &contract.Removal{Nodes: leave, DrainSeconds: 1}
		l.stuck["worker-2"] = true
		_, err := l.run()
		return l, err
	}
	l, err := blocked("worker-1", "worker-2")
	if f := task.FailureOf(err); f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-2" {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.stuck = nil
	if !l.cordoned["worker-1"] { // so pods move there again
		l.addPod("worker-1", "shop", "web-1-9", func(p *pod) { p.own("ReplicaSet") })
	}
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	knowndefect.Expect(t, "L7", func(should testing.TB) {
		drains := 0
		for _, what := range slices.Compact(slices.Clone(l.did)) {
			if what == "drain worker-1" {
				drains++
			}
		}
		if drains != 1 {
			should.Errorf("worker-1 was drained %d times in two attempts: %v", drains, l.did)
		}
	})
	l, err = blocked("worker-1") // the workaround: fewer nodes at a time
	if err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectMembers("master-1", "worker-2", "worker-3")
}
