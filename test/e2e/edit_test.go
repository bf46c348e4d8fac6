//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// TestEdit is the short form of TestChange: one more worker and one more control plane, and back. The
// first worker is touched only where its proxy must know the control planes. Before that, the health of
// the cluster is checked: see checkHealth. The cluster is backed up while it has two control planes.
func TestEdit(t *testing.T) {
	s := site.New(t, "e2e-edit", 4, 0)
	s.Apply(s.Provisioning("edge-22", site.LabPlaybooks, masters(1), pool(1)))
	l := &life{t: t, s: s, limit: 6 * time.Minute}
	l.await("1 control plane and 1 worker", "master-1", "pool-1")
	checkRotation(t, s, l.p)
	l.checkHealth("master-1", "pool-1")
	stays := []string{hostOf(l.p, "pool-1")}
	before := prints(s, stays)

	l.edit(masters(2), pool(2))
	l.await("2 control planes and 2 workers", "master-1", "master-2", "pool-1", "pool-2")
	hosts := hostsOf(s, l.p)
	checkBackups(t, s, l.p)

	// The set keeps the emptier worker, so the pod of the check decides which one stays.
	l.edit(masters(1), pool(1), func(p *v1alpha1.Provisioning) { p.Spec.Priority = 1 })
	l.shrunk(hosts)
	if l.p.Status.Nodes[1].Host == stays[0] {
		if diff := cmp.Diff(before, prints(s, stays)); diff != "" {
			t.Errorf("a worker that stays was changed (-before +after):\n%s", diff)
		}
	}
}
