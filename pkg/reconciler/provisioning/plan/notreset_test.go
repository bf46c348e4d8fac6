package plan

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestNotResetIsRemembered: a node that has left the cluster, and whose host did not answer, is known also after a later task
// of its run has failed, and after a run that has only collected a kubeconfig. Another run removes it when a user requests
// one.
func TestNotResetIsRemembered(t *testing.T) {
	removal := func(state State, kubespray State) Run {
		return Run{Number: 1, Operation: contract.OperationRemoveNodes, State: state, Retry: "a", Tasks: []Task{{Name: contract.TaskKubespray, State: kubespray}}}
	}
	after := func(operation string) Run {
		return Run{Number: 2, Operation: operation, State: Succeeded, Retry: "b", Tasks: []Task{{Name: contract.TaskKubespray, State: Succeeded}}}
	}
	for name, row := range map[string]struct {
		runs  []Run
		retry string
		want  int
	}{
		"the removal succeeded":             {runs: []Run{removal(Succeeded, Succeeded)}, retry: "a", want: 1},
		"its kubeconfig was not collected":  {runs: []Run{removal(Failed, Succeeded)}, retry: "a", want: 1},
		"it failed":                         {runs: []Run{removal(Failed, Failed)}, retry: "a"},
		"it is active":                      {runs: []Run{removal(Active, Succeeded)}, retry: "a"},
		"another run has collected it":      {runs: []Run{removal(Failed, Succeeded), after(contract.OperationCollect)}, retry: "a", want: 1},
		"another run has installed plugins": {runs: []Run{removal(Succeeded, Succeeded), after(contract.OperationPlugins)}, retry: "a", want: 1},
		"a retry, which the collection had": {runs: []Run{removal(Failed, Succeeded), after(contract.OperationCollect)}, retry: "b"},
		"a retry":                           {runs: []Run{removal(Succeeded, Succeeded)}, retry: "b"},
		"the run was deleted":               {runs: []Run{after(contract.OperationCollect)}, retry: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Seen{
				Name: "edge-1", InstalledDigest: "d", Recorded: true, Runs: row.runs, Retry: row.retry, Removal: &contract.Removal{Nodes: []string{"worker-1"}},
				Memory: &contract.Installed{Nodes: []contract.Node{{Name: "master-1", Host: "host-1", HostUID: "u1"}}},
				States: contract.HostStates{"u1": contract.HostUsed, "u2": contract.HostUsed},
				Site: map[string]Host{
					"host-1": {UID: "u1", Ours: true},
					"host-2": {UID: "u2", Ours: true, Labels: map[string]string{contract.LabelNode: "worker-1"}},
				},
			}
			if got := s.notReset(); len(got) != row.want {
				t.Errorf("not reset: %+v, want %d nodes", got, row.want)
			}
		})
	}
}
