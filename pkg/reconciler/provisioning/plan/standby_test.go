package plan

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestStandbyIsClaimedAgain: an edit takes a standby out of the spec, another one requests it again, and no run is between the
// two. A run claims a standby, also if another cluster has taken the host meanwhile. It starts once: if it finds no host, the
// standby is only reported.
func TestStandbyIsClaimedAgain(t *testing.T) {
	for title, meanwhile := range map[string][]string{"the host is free": nil, "the host is taken": {"host host-4 taken Provisioning edge-2"}} {
		t.Run(title, func(t *testing.T) {
			w := installedScene(t, "nodes master-1", "set workers 2 1")
			w.tell(t, "edit set workers 2 0", "advance")
			if w.tell(t, meanwhile...); w.last.Do != Stay {
				t.Fatalf("a standby that is not requested starts a run: %s", w.describe())
			}
			w.tell(t, "edit set workers 2 1")
			if w.last.Do != StartRun || w.last.Operation != contract.OperationAddNodes {
				t.Fatalf("no run claims the standby: %s", w.describe())
			}
			w.tell(t, "starts")
			last := len(w.seen.Nodes) - 1
			w.tell(t, "host "+w.seen.Nodes[last].Host+" free")
			w.seen.Nodes = w.seen.Nodes[:last] // without a standby
			if w.tell(t, "done"); w.last.Do != Stay || !w.p.Status.IsReady() {
				t.Errorf("after a run that has found no host: %s", w.describe())
			}
		})
	}
}
