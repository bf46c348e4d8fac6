package upgrade_test

import (
	"io"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// endsAt asks the run to end when kubectl runs a command with this text, and lets a node fail that the run does not concern.
func (u *upgrading) endsAt(t *testing.T, text, fails string) {
	inner := u.Living.Commands
	u.Living.Commands = func(command string, stdout, stderr io.Writer) (int, bool) {
		status, known := inner(command, stdout, stderr)
		if strings.Contains(command, text) {
			if err := u.Progress.Set(t.Context(), contract.KeyEnds, u.In.Run); err != nil {
				t.Error(err)
			}
			u.Mu.Lock()
			u.Nodes[fails] = false
			u.Mu.Unlock()
		}
		return status, known
	}
}

// A run that is asked to end between two drains upgrades what is drained, and leaves the other nodes as they are. It
// does not wait for a node that fails meanwhile. A later run upgrades the rest.
func TestAnotherChangeComesFirst(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 4, "worker-1", "worker-2", "worker-3")
	if err := u.Progress.Set(t.Context(), contract.KeyEnds, "another-run"); err != nil {
		t.Fatal(err)
	}
	u.endsAt(t, " drain worker-1", "worker-4")
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
	u.endsAt(t, " get leases ", "worker-2")
	u.endsAt(t, " get nodes ", "worker-2")
	out, err := u.Run()
	if err != nil || out.Recap != "no node was upgraded; another change comes first, so these wait: worker-1" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.expectDid()
	u.expectLevels("1.34.3", map[string]string{})
}
