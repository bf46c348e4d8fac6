package year

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A seed gives the same steps each time.
func TestDealIsRepeatable(t *testing.T) {
	if diff := cmp.Diff(Deal(7, New(Patched), 50), Deal(7, New(Patched), 50)); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(Deal(7, New(Patched), 12), Deal(8, New(Patched), 12)) {
		t.Error("two seeds give the same steps")
	}
}

// The steps can be played: each of them leaves a cluster with a worker, and a machine that is free.
func TestDealLeavesAMachineFree(t *testing.T) {
	for seed := range uint64(200) {
		for _, s := range Deal(seed, New(Older), 60) {
			w := s.After
			if w.Machines() >= Hosts || len(w.Workers) == 0 || w.Planes != 1 && w.Planes != 3 || w.Pool < 1 || w.Standby < 0 {
				t.Fatalf("seed %d, %s: %s", seed, s, w)
			}
		}
	}
}

// All has each operation that is not left out.
func TestAllHasEachOperation(t *testing.T) {
	for seed := range uint64(200) {
		got := map[string]bool{}
		steps := All(seed, New(Patched), UpgradeMinor)
		for _, s := range steps {
			got[s.Operation], got[s.Meanwhile] = true, true
		}
		for _, e := range Events {
			if !got[e] {
				t.Errorf("seed %d: %q does not happen", seed, e)
			}
		}
		for _, name := range Names() {
			if got[name] != (name != UpgradeMinor) {
				t.Errorf("seed %d: %q is in its steps: %t", seed, name, got[name])
			}
		}
		if len(steps) > len(Names())+4 {
			t.Errorf("seed %d has %d steps", seed, len(steps))
		}
	}
}

// No two operations have the same name, by which tests find them.
func TestNamesAreUnique(t *testing.T) {
	names := Names()
	slices.Sort(names)
	if n := len(names); n != len(slices.Compact(names)) {
		t.Errorf("names %v", names)
	}
}

// TestSeason: the steps leave a machine free, and touch nothing that the stories beside them need.
func TestSeason(t *testing.T) {
	steps := Season()
	for _, s := range steps {
		if s.After.Machines() >= SeasonHosts || s.Meanwhile == KillDepot || s.Meanwhile == ApplyConfig {
			t.Errorf("%s: %s", s, s.After)
		}
	}
	var got []string
	for _, s := range steps {
		got = append(got, s.Operation)
	}
	want := []string{GrowPool, Rotate, BackUp, ShrinkPool, AddDrained, Exchange, AddPlugin}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
