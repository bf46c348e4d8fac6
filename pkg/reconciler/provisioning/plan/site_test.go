package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

func TestInstalledHosts(t *testing.T) {
	site := map[string]Host{"h2": {Ours: true}, "h1": {Ours: true}, "h3": {Ours: true}, "h4": {Holder: "Machine m"}}
	nodes := []contract.Node{{Name: "b", Host: "h2"}, {Name: "a", Host: "h1"}, {Name: "c", Host: "h3", Standby: true}, {Name: "d", Host: "h4"}}
	for name, tc := range map[string]struct {
		seen Seen
		want []string
	}{
		"nothing was installed":        {Seen{Site: site, Nodes: nodes}, nil},
		"a cluster is there":           {Seen{Site: site, Nodes: nodes, InstalledDigest: "one"}, []string{"h1", "h2"}},
		"a playbook was started":       {Seen{Site: site, Nodes: nodes, Touched: true}, []string{"h1", "h2"}},
		"its TaskRun is gone":          {Seen{Site: site, Nodes: nodes, Runs: []Run{{State: Failed, Touched: true}}}, []string{"h1", "h2"}},
		"the list of nodes is deleted": {Seen{Site: site, InstalledDigest: "one"}, []string{"h1", "h2", "h3"}},
	} {
		if diff := cmp.Diff(tc.want, tc.seen.InstalledHosts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
