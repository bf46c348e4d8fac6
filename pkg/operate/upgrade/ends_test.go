package upgrade_test

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// ends asks the run to end, and lets a node fail that the run does not concern.
func (u *upgrading) ends(t *testing.T, fails string) {
	if err := u.Progress.Set(t.Context(), contract.KeyEnds, u.In.Run); err != nil {
		t.Error(err)
	}
	u.Mu.Lock()
	defer u.Mu.Unlock()
	u.Nodes[fails] = false
}

// A run that is asked to end between two drains upgrades what is drained, and leaves the other nodes as they are. It
// does not wait for a node that fails meanwhile. A later run upgrades the rest.
func TestAnotherChangeComesFirst(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 4, "worker-1", "worker-2", "worker-3")
	if err := u.Progress.Set(t.Context(), contract.KeyEnds, "another-run"); err != nil {
		t.Fatal(err)
	}
	u.On("evict pods web-1-0", func(apitest.Call) error { u.ends(t, "worker-4"); return nil })
	out, err := u.Run()
	if err != nil || out.Recap != "worker-1 upgraded to 1.35.4; another change comes first, so these wait: worker-2, worker-3" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.expectDid("cordon worker-1", "cordon worker-2", "cordon worker-3", "drain worker-1", "uncordon worker-2", "uncordon worker-3",
		"upgrade-cluster.yml worker-1", "uncordon worker-1")
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
	u.Nodes["worker-4"], u.In.Request.Upgrade.Nodes, u.In.Run = true, []string{"worker-2", "worker-3"}, "the-next-run"
	if out, err = u.Run(); err != nil || out.Recap != "worker-2, worker-3 upgraded to 1.35.4" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
}

// A run that is asked while it waits for a healthy cluster drains nothing. Without the question it would have failed.
func TestAnotherChangeComesBeforeTheFirstDrain(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	healthy := u.Fixture.Kubectl
	u.Fixture.Kubectl = func() string { u.ends(t, "worker-2"); return healthy() }
	out, err := u.Run()
	if err != nil || out.Recap != "no node was upgraded; another change comes first, so these wait: worker-1" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.expectDid()
	u.expectLevels("1.34.3", map[string]string{})
}
