package plan

import (
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// A stored time limit below a second, which the webhook refuses today, must not turn off the drain.
func TestDrainIsNeverTurnedOff(t *testing.T) {
	for limit, want := range map[time.Duration]int{time.Millisecond: 1, time.Second: 1, 1500 * time.Millisecond: 2, 10 * time.Minute: 600} {
		s := Seen{Memory: &contract.Installed{}, Limits: Limits{Drain: limit, UpgradeDrain: limit}}
		if state := s.State(); state.DrainSeconds != want || state.Rollout.DrainSeconds != want {
			t.Errorf("%s: %d seconds for a removal and %d for an upgrade, want %d", limit, state.DrainSeconds, state.Rollout.DrainSeconds, want)
		}
	}
}

// The drains of a run leave half of its time to what is done with the drained nodes.
func TestDrainsHaveHalfOfARun(t *testing.T) {
	state := Seen{Memory: &contract.Installed{}, Limits: Limits{Run: 2 * time.Hour}}.State()
	if state.DrainsSeconds != 3600 || state.Rollout.DrainsSeconds != 3600 {
		t.Errorf("%d seconds for a removal and %d for an upgrade, want 3600", state.DrainsSeconds, state.Rollout.DrainsSeconds)
	}
}
