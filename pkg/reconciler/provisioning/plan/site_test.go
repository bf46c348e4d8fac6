package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
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

// TestUnfitHostsAreTriedLessOften: the controller accepts hosts whose network data it cannot read,
// and only the run finds that they are unsuitable. Without growing intervals, such a run would
// start every 30 s.
func TestUnfitHostsAreTriedLessOften(t *testing.T) {
	failed := Run{State: Failed, Attempt: 1, Tasks: []Task{{
		Name: contract.TaskSelectHosts, State: Failed, Failure: &contract.Failure{Reason: contract.ReasonHostsNotAvailable},
	}}}
	for n, want := range map[int]time.Duration{1: 30 * time.Second, 2: time.Minute, 5: 5 * time.Minute} {
		s := Seen{Runs: slices.Repeat([]Run{failed}, n), Limits: Limits{Attempts: 5, History: 5}}
		if at, again := retryAt(s, failed, Classify(failed)); !again || at.Sub(failed.Completed) != want {
			t.Errorf("after %d runs: again %t after %s, want %s", n, again, at.Sub(failed.Completed), want)
		}
	}
}
