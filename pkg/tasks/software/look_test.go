package software

import (
	"encoding/json"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// A control plane is asked for nothing if all packages are for workers. The module reads a list also then.
func TestQuestionsForANodeWithoutPackages(t *testing.T) {
	run := contract.SoftwareRun{Packages: []contract.Software{{Name: "curl", Workers: true}}}
	w := &Work{Rules: Rules{Run: run}, Record: &Record{}}
	for role, want := range map[string]string{
		contract.RoleControlPlane: `{"packages":[]}`,
		contract.RoleWorker:       `{"packages":[{"name":"curl","sources":true}]}`,
	} {
		got, err := json.Marshal(request{Packages: w.questions(contract.Node{Name: "a", Roles: []string{role}})})
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", role, got, err, want)
		}
	}
}
