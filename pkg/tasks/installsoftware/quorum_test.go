package installsoftware

import (
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A control plane is drained only while all others are Ready. A worker that is down, and a control plane in
// standby, keep none from being drained.
func TestQuorum(t *testing.T) {
	for name, test := range map[string]struct {
		down    []string
		standby bool
		want    contract.Reason
	}{
		"all are Ready":                {nil, false, ""},
		"a control plane is not Ready": {[]string{"master-2"}, false, contract.ReasonQuorumAtRisk},
		"it is in standby":             {[]string{"master-2"}, true, ""},
		"a worker is not Ready":        {[]string{"worker-1"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t).wants("driver:Reboot")
			w.in.Nodes[2].Name, w.in.Nodes[2].Roles, w.in.Nodes[2].Standby = "master-2", []string{contract.RoleControlPlane}, test.standby
			w.in.Request.Software.Nodes = []string{"master-1"}
			w.has["master-2"], w.states["master-2"] = map[string]string{}, w.states["worker-2"]
			delete(w.states, "worker-2")
			for _, n := range test.down {
				w.states[n] = State{Boot: "boot-1"}
			}
			_, err := w.run(t.Context())
			if drained := slices.Contains(w.did, "drain master-1"); drained != (test.want == "") {
				t.Errorf("steps %v", w.did)
			}
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if f := task.FailureOf(err); f.Reason != test.want || f.Host != "master-2" || !strings.Contains(f.Message, "not Ready: master-2") {
				t.Errorf("failure %+v", f)
			}
			if slices.Contains(w.did, "cordon master-1") {
				t.Errorf("a node that is not drained is cordoned: %v", w.did)
			}
		})
	}
}
