package machine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/machine/machinetest"
)

// TestMember: a machine shows the CA and the node of its kubelet by certificates, and never a key.
func TestMember(t *testing.T) {
	t.Parallel()
	m, ctx := newMachine(t), context.Background()
	if got, err := Member(ctx, m.shell); err != nil || got.Node() != "" || len(got.CA) > 0 || got.ControlPlane {
		t.Fatalf("a blank machine: %+v, %v\n%s", got, err, &m.stderr)
	}
	ours, others := machinetest.NewCA(t, time.Now()), machinetest.NewCA(t, time.Now())
	m.write("etc/kubernetes/ssl/ca.crt", ours.PEM, 0o644)
	const secret = "-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0\n-----END EC PRIVATE KEY-----\n"
	m.write("var/lib/kubelet/pki/kubelet-client-current.pem", ours.Kubelet(t, "worker-1")+secret, 0o600)
	before := m.tree()
	got, err := Member(ctx, m.shell)
	if err != nil || got.Node() != "worker-1" || len(got.CA) != 1 || got.ControlPlane {
		t.Errorf("a worker: %+v, %v\n%s", got, err, &m.stderr)
	}
	out, err := m.shell(ctx, memberScript)
	if err != nil || strings.Contains(string(out), "c2VjcmV0") || strings.Count(string(out), "\n") != 3 {
		t.Errorf("%v, it prints\n%s", err, out)
	}
	if diff := cmp.Diff(before, m.tree()); diff != "" {
		t.Errorf("Member changed the machine (-before +after):\n%s", diff)
	}
	m.write("etc/kubernetes/admin.conf", "x", 0o600)
	m.write("var/lib/kubelet/pki/kubelet-client-current.pem", others.Kubelet(t, "worker-1"), 0o600)
	if got, err = Member(ctx, m.shell); err != nil || got.Node() != "" || !got.ControlPlane {
		t.Errorf("the certificate of another CA: %q, %v", got.Node(), err)
	}
}
