package plan

import (
	"slices"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestUnreachableHosts: hosts that do not answer are replaced, except a control plane node that may
// be a member of etcd. If no host answers, the network is the likely cause, and none is replaced.
func TestUnreachableHosts(t *testing.T) {
	for name, tc := range map[string]struct {
		silent, used, want []string
	}{
		"a worker":                              {[]string{"worker-1"}, nil, []string{"worker-1"}},
		"a worker that was used":                {[]string{"worker-1"}, []string{"worker-1"}, []string{"worker-1"}},
		"a control plane":                       {[]string{"master-1"}, nil, []string{"master-1"}},
		"a control plane that was used":         {[]string{"master-1"}, []string{"master-1"}, nil},
		"two of three":                          {[]string{"master-1", "worker-2"}, []string{"master-1"}, []string{"worker-2"}},
		"all":                                   {[]string{"master-1", "worker-1", "worker-2"}, nil, nil},
		"all, of which a control plane is used": {[]string{"master-1", "worker-1", "worker-2"}, []string{"master-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene()
			w.seen.Slots = []string{"master-1", "worker-1", "worker-2"}
			w.request()
			w.seen.Started = w.seen.Request
			w.claim()
			for _, n := range w.seen.Nodes {
				if slices.Contains(tc.used, n.Name) {
					w.seen.States[n.HostUID] = contract.HostUsed
				}
			}
			failure := &contract.Failure{Reason: contract.ReasonHostUnreachable, Host: tc.silent[0], Others: tc.silent[1:]}
			w.seen.Runs = []Run{{Name: "edge-1-install-1", Operation: contract.OperationInstall, State: Failed,
				Tasks: []Task{{Name: contract.TaskKubespray, State: Failed, Failure: failure}}}}
			var got []string
			for _, n := range w.seen.unreachable() {
				got = append(got, n.Name)
			}
			if !slices.Equal(tc.want, got) {
				t.Errorf("replaced %v, want %v", got, tc.want)
			}
		})
	}
}
