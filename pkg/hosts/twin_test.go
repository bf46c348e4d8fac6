package hosts

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// twin finds by trying everything: whether an assignment exists, the most of our own hosts that one can keep, and the least
// it can cost with that many kept.
func twin(w *world) (fits bool, kept int, least int64) {
	used := make([]bool, len(w.hosts))
	var try func(s, held int, sum int64)
	try = func(s, held int, sum int64) {
		if s == len(w.slots) {
			if !fits || held > kept || held == kept && sum < least {
				fits, kept, least = true, held, sum
			}
			return
		}
		for h, host := range w.hosts {
			if used[h] || !w.fits(s, h) {
				continue
			}
			used[h] = true
			if w.me.Holds(host) {
				try(s+1, held+1, sum)
			} else {
				try(s+1, held, sum+weight(host))
			}
			used[h] = false
		}
	}
	try(0, 0, 0)
	return fits, kept, least
}

// weight is a host's cost as a number: special hardware outweighs all sizes of these small worlds.
func weight(h Host) int64 {
	return int64(special(h.SRIOV, h.QAT))<<50 + size(h.CPU, h.Memory)
}

func randomWorld(r *rand.Rand) ([]contract.Slot, []Host) {
	var all []Host
	for n := range 1 + r.IntN(6) {
		h := host(n+1, 1+r.IntN(4), int64(1+r.IntN(4)))
		h.SRIOV, h.QAT = r.IntN(4) == 0, r.IntN(4) == 0
		switch r.IntN(6) {
		case 0:
			heldBy("edge-2", "a")(&h)
		case 1, 2:
			heldBy("edge-1", string(rune('a'+r.IntN(5))))(&h)
		}
		if r.IntN(8) == 0 {
			h.Unusable = "paused"
		}
		all = append(all, h)
	}
	var slots []contract.Slot
	for n := range 1 + r.IntN(5) {
		s := slot(string(rune('a'+n)), r.IntN(4), int64(r.IntN(4)))
		s.SRIOV, s.QAT = r.IntN(5) == 0, r.IntN(5) == 0
		if r.IntN(5) == 0 {
			s.MAC = pinned("", 1+r.IntN(7)).MAC
		}
		slots = append(slots, s)
	}
	return slots, all
}

func TestAssignAgreesWithTwin(t *testing.T) {
	found := 0
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 5))
		slots, all := randomWorld(r)
		w := newWorld(slots, all, me)
		fits, kept, least := twin(w)

		got, err := Assign(slots, all, me)
		var nofit *NoFit
		if errors.As(err, &nofit) == fits || err == nil && len(got) != len(slots) {
			t.Fatalf("seed %d: Assign = %v, %v, but an assignment exists: %t", seed, got, err, fits)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		again, errAgain := Assign(slots, all, me)
		if diff := cmp.Diff(got, again); diff != "" || (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Fatalf("seed %d: the order of the hosts changes the answer (-first +again):\n%s%v\n%v", seed, diff, err, errAgain)
		}
		if err != nil {
			continue
		}
		found++
		held, sum := 0, int64(0)
		for _, pair := range got {
			h := slices.IndexFunc(w.hosts, func(h Host) bool { return h.Name == pair.Host })
			if !w.fits(pair.Slot, h) {
				t.Fatalf("seed %d: %s is given %s, which does not fit", seed, slots[pair.Slot].Name, pair.Host)
			}
			if me.Holds(w.hosts[h]) {
				held++
			} else {
				sum += weight(w.hosts[h])
			}
		}
		if names := got.Hosts(); len(slices.Compact(slices.Clone(names))) != len(slots) {
			t.Fatalf("seed %d: a host is given twice: %v", seed, names)
		}
		if held != kept || sum != least {
			t.Fatalf("seed %d: keeps %d hosts and costs %d; the twin keeps %d and costs %d", seed, held, sum, kept, least)
		}
	}
	if found < 1000 || found > 19000 {
		t.Errorf("%d of 20000 worlds have an assignment: the worlds say too little", found)
	}
}

// Ours once claimed, ours again: an assignment that is carried out is the answer to the same question.
func TestAssignIsStable(t *testing.T) {
	for seed := range uint64(5000) {
		slots, all := randomWorld(rand.New(rand.NewPCG(seed, 6)))
		first, err := Assign(slots, all, me)
		if err != nil {
			continue
		}
		for _, pair := range first {
			h := slices.IndexFunc(all, func(h Host) bool { return h.Name == pair.Host })
			heldBy(me.Name, slots[pair.Slot].Name)(&all[h])
		}
		second, err := Assign(slots, all, me)
		if diff := cmp.Diff(first, second); err != nil || diff != "" {
			t.Fatalf("seed %d: %v, assignment (-first +second):\n%s", seed, err, diff)
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var all []Host
	for n := range 10000 {
		all = append(all, host(n, 1+r.IntN(64), int64(1+r.IntN(256))))
	}
	var slots []contract.Slot
	for range 1000 {
		slots = append(slots, slot("w", r.IntN(48), int64(r.IntN(192))))
	}
	for b.Loop() {
		if _, err := Assign(slots, all, me); err != nil {
			b.Fatal(err)
		}
	}
}
