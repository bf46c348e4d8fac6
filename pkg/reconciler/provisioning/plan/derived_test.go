package plan

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/change"
)

// derivedFacts is all that derived has.
type derivedFacts struct {
	Losses, Waiting   []Loss
	State             change.State
	Next              change.Step
	Changes           bool
	Refused, Blocking []change.Refusal
	Upgrading         *change.Progress
}

func factsOf(s Seen) (f derivedFacts) {
	f.Next, f.Changes = s.nextChange()
	f.Losses, f.Waiting, f.State, f.Upgrading = s.losses(), s.waiting(), s.State(), s.upgrading()
	f.Refused, f.Blocking = s.refused(false), s.refused(true)
	return f
}

// TestDecisionsWithoutDerivedFacts checks that what is derived once for a decision is what each rule would compute
// itself: a rule that changed what it got would change what the next one sees.
func TestDecisionsWithoutDerivedFacts(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	changes := 0
	for seed := range uint64(3000) {
		world := func() Seen { return randomWorld(rand.New(rand.NewPCG(seed, 1)), now) }
		if diff := cmp.Diff(decide(world(), now), Next(world(), now)); diff != "" {
			t.Fatalf("seed %d: step (-each rule for itself +derived once):\n%s", seed, diff)
		}
		s := world()
		s.Fix()
		for range 2 {
			if diff := cmp.Diff(factsOf(world()), factsOf(s)); diff != "" {
				t.Fatalf("seed %d (-each rule for itself +derived once):\n%s", seed, diff)
			}
			decide(s, now)
		}
		if _, ok := s.nextChange(); ok {
			changes++
		}
	}
	if changes < 100 {
		t.Errorf("only %d worlds have a next change", changes)
	}
}

// TestUpcomingWithDerivedFacts checks that Upcoming decides on the facts that it assumes, and that the decision of the
// same visit does not depend on it.
func TestUpcomingWithDerivedFacts(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	lost := 0
	for seed := range uint64(3000) {
		world := func() Seen { return randomWorld(rand.New(rand.NewPCG(seed, 1)), now) }
		assumed := world()
		assumed.Hosts, assumed.SSH, assumed.Queue, assumed.BackingUp = &Need{}, &Need{}, nil, ""
		for name, h := range assumed.Site {
			h.Live, h.PowerManaged = true, false
			assumed.Site[name] = h
		}
		s := world()
		s.Fix()
		got, _ := Upcoming(s, now)
		if diff := cmp.Diff(decide(assumed, now), got); diff != "" {
			t.Fatalf("seed %d: upcoming step (-with all facts assumed +after Fix):\n%s", seed, diff)
		}
		if diff := cmp.Diff(decide(world(), now), Next(s, now)); diff != "" {
			t.Fatalf("seed %d: step (-alone +after Upcoming):\n%s", seed, diff)
		}
		if len(s.losses()) > 0 {
			lost++
		}
	}
	if lost < 100 {
		t.Errorf("only %d worlds have a loss", lost)
	}
}
