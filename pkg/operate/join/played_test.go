package join_test

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
)

// If the playbook has succeeded with the same inventory, only the health check runs.
func TestPlayedInventoryIsNotPlayedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *kubespraytest.Fixture)
		plays  int
	}{
		"the same":                         {func(*kubespraytest.Fixture) {}, 1},
		"another inventory":                {func(w *kubespraytest.Fixture) { w.In.HostsINI = []byte("[all]\nworker-9\n") }, 2},
		"a new host with the same address": {func(w *kubespraytest.Fixture) { w.In.Nodes[1].HostUID = "uid-9" }, 2},
		"a host that was reset":            {func(w *kubespraytest.Fixture) { w.Record(`{"uid-1":"used","uid-2":"clean"}`) }, 2},
		"none":                             {func(w *kubespraytest.Fixture) { w.In.Played = contract.None }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 1)
			if _, err := w.Run(); err != nil {
				t.Fatal(err)
			}
			w.In.Played = inventory.Inventory{HostsINI: w.In.HostsINI, GroupVars: w.In.GroupVars}.Digest()
			w.Cluster = func(int) string {
				return sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", ""))
			}
			marks := len(w.Disks[0].Changes())
			tc.change(w)
			if _, err := w.Run(); err != nil {
				t.Fatal(err)
			}
			if len(w.Ran) != tc.plays || tc.plays == 1 && len(w.Disks[0].Changes()) != marks {
				t.Errorf("%d playbooks, want %d; scripts %v", len(w.Ran), tc.plays, w.Disks[0].Changes())
			}
			if said := strings.Contains(w.Log.String(), "does not run again"); said != (tc.plays == 1) {
				t.Errorf("the log says that the playbook is left out: %t", said)
			}
		})
	}
}
