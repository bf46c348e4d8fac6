package reset_test

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A user can name a host with the cluster of another owner: such a request has no UID.
func TestResetOfANamedHost(t *testing.T) {
	r := newReset(t, 0)
	r.In.Request.UID = ""
	r.Disks[0].With("uid-of-edge-9")
	if out, err := r.Run(); err != nil || out.Recap != "1 host reset" {
		t.Errorf("recap %q, %v", out.Recap, err)
	}
}

// Another machine may have the address of a named host. Without a MAC address and a pinned key,
// nothing shows this, so the machine is left alone.
func TestResetOfANamedHostThatIsUnproven(t *testing.T) {
	r := newReset(t, 0)
	r.In.Request.UID, r.In.Nodes[0].MACs = "", nil
	r.Disks[0].With("uid-of-edge-9")
	out, err := r.Run()
	if want := "0 of 1 host reset; host-1 cannot be identified: none of its MAC addresses is known"; err != nil || out.Recap != want {
		t.Errorf("recap %q, want %q; %v", out.Recap, want, err)
	}
	if changes := r.Disks[0].Changes(); len(changes) > 0 {
		t.Errorf("changed by %v", changes)
	}
	r.Pin("uid-1", r.HostKey.PublicKey())
	if out, err := r.Run(); err != nil || out.Recap != "1 host reset" {
		t.Errorf("with a pinned key: recap %q, %v", out.Recap, err)
	}
}

// Named hosts belong to no Provisioning, so the message must not name a field of its spec.
func TestResetOfNamedHostsThatDoNotAnswer(t *testing.T) {
	r := newReset(t, 1)
	r.In.Request.UID = ""
	for _, s := range r.Servers {
		s.Stop()
	}
	out, err := r.Run()
	if err == nil {
		t.Fatalf("no error; recap %q", out.Recap)
	}
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonHostUnreachable || !strings.Contains(f.Message, "reset the hosts again") || strings.Contains(f.Message, "spec.") {
		t.Errorf("failure %+v", f)
	}
}
