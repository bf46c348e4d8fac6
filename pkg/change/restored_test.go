package change

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// After a restore of a backup with other variables, the control planes have parts of both. They get the
// requested ones, also if these are those of the backup.
func TestVariablesAfterARestore(t *testing.T) {
	old := contract.Request{}.Settings()
	for name, vars := range map[string]map[string]json.RawMessage{
		"those of the record": {"metrics_server_enabled": json.RawMessage("true")},
		"those of the backup": nil,
	} {
		s := ruined(func(s *State) {
			s.Restore, s.Lost = nil, nil
			s.Installed.Request.Vars = map[string]json.RawMessage{"metrics_server_enabled": json.RawMessage("true")}
			s.Wanted.Slots, s.Wanted.Vars = s.Wanted.Slots[:5], vars
			for i := range 3 {
				s.Installed.Nodes[i].Settings = s.Installed.Request.Settings() + "+" + old
			}
		})
		var steps []string
		for _, step := range Plan(s) {
			steps = append(steps, step.String())
		}
		want := []string{"give m1 the requested settings", "give m2 the requested settings", "give m3 the requested settings"}
		if vars == nil {
			want = append(want, "give w1 the requested settings", "give w2 the requested settings")
		}
		if diff := cmp.Diff(want, steps); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", name, diff)
		}
	}
}
