package kubespray

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
)

// If the playbook has succeeded with the same inventory, only the health check runs.
func TestPlayedInventoryIsNotPlayedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *fixture)
		plays  int
	}{
		"the same":                         {func(*fixture) {}, 1},
		"another inventory":                {func(w *fixture) { w.in.HostsINI = []byte("[all]\nworker-9\n") }, 2},
		"a new host with the same address": {func(w *fixture) { w.in.Nodes[1].HostUID = "uid-9" }, 2},
		"a host that was reset":            {func(w *fixture) { w.record(`{"uid-1":"used","uid-2":"clean"}`) }, 2},
		"none":                             {func(w *fixture) { w.in.Played = contract.None }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, 1)
			if _, err := w.run(); err != nil {
				t.Fatal(err)
			}
			w.in.Played = inventory.Inventory{HostsINI: w.in.HostsINI, GroupVars: w.in.GroupVars}.Digest()
			w.cluster = func(int) string {
				return sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", ""))
			}
			marks := len(w.disks[0].changes())
			tc.change(w)
			if _, err := w.run(); err != nil {
				t.Fatal(err)
			}
			if len(w.ran) != tc.plays || tc.plays == 1 && len(w.disks[0].changes()) != marks {
				t.Errorf("%d playbooks, want %d; scripts %v", len(w.ran), tc.plays, w.disks[0].changes())
			}
			if said := strings.Contains(w.log.String(), "does not run again"); said != (tc.plays == 1) {
				t.Errorf("the log says that the playbook is left out: %t", said)
			}
		})
	}
}
