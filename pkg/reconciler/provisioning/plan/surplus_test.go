package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSurplus: runs are deleted by number and by age, but never the newest two because of their age, never the newest
// one, and never an active one.
func TestSurplus(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	runs := func(days ...int) (all []Run) { // the days since their ends; -1: active
		for i, d := range days {
			r := Run{Name: fmt.Sprintf("run-%d", i+1), State: Succeeded, Completed: now.Add(-time.Duration(d) * 24 * time.Hour)}
			if d < 0 {
				r.State, r.Completed = Active, time.Time{}
			}
			all = append(all, r)
		}
		return all
	}
	for name, test := range map[string]struct {
		runs   []Run
		limits Limits
		want   []string
	}{
		"few and young":              {runs(2, 1, 0), Limits{History: 5, HistoryAge: 72 * time.Hour}, nil},
		"many":                       {runs(1, 1, 1, 0), Limits{History: 2, HistoryAge: 72 * time.Hour}, []string{"run-1", "run-2"}},
		"a month old":                {runs(34, 33, 32, 31, 30), Limits{History: 5, HistoryAge: 72 * time.Hour}, []string{"run-1", "run-2", "run-3"}},
		"some are old":               {runs(34, 5, 2, 1, 0), Limits{History: 5, HistoryAge: 72 * time.Hour}, []string{"run-1", "run-2"}},
		"no limit of age":            {runs(34, 33, 32), Limits{History: 5}, nil},
		"the history has one":        {runs(34, 33), Limits{History: 1, HistoryAge: 72 * time.Hour}, []string{"run-1"}},
		"an active one stays":        {runs(-1, 33, 32, 31), Limits{History: 2, HistoryAge: 72 * time.Hour}, []string{"run-2"}},
		"beside an active one":       {runs(34, 33, -1), Limits{History: 5, HistoryAge: 72 * time.Hour}, []string{"run-1"}},
		"settings that are not read": {runs(34, 33, 32), Limits{History: math.MaxInt}, nil},
	} {
		if diff := cmp.Diff(test.want, surplus(Seen{Runs: test.runs, Limits: test.limits}, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	held := runs(1, 1, 1, 0)
	held[0].Leaving = true
	if got := surplus(Seen{Runs: held, Limits: Limits{History: 2}}, now); !slices.Equal(got, []string{"run-2"}) {
		t.Errorf("run-1 is deleted already, and a finalizer holds it: delete %v, want run-2", got)
	}
	both := surplus(Seen{Runs: runs(9, 9, 9), Software: Softwares{Runs: runs(9, 9, 9)}, Limits: Limits{History: 5, HistoryAge: time.Hour}}, now)
	if !slices.Equal(both, []string{"run-1", "run-1"}) {
		t.Errorf("runs of the cluster and for Softwares: %v", both)
	}
}
