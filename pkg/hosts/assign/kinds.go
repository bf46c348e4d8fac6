package assign

import (
	"slices"
	"sort"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// stairs tell of a number which bins ask for no more.
type stairs struct {
	steps []int64 // rising
	bins  table   // row i: those that ask for less than steps[i]; the last row: all
}

func newStairs(bins []*bin, of func(*contract.Needs) int64) stairs {
	var s stairs
	for _, b := range bins {
		s.steps = append(s.steps, of(b.needs))
	}
	slices.Sort(s.steps)
	s.steps = slices.Compact(s.steps)
	s.bins = newTable(len(s.steps)+1, len(bins))
	for i, b := range bins {
		step, _ := slices.BinarySearch(s.steps, of(b.needs))
		s.bins.row(step + 1).add(i)
	}
	for step := range s.steps {
		row, before := s.bins.row(step+1), s.bins.row(step)
		for i := range row {
			row[i] |= before[i]
		}
	}
	return s
}

func (s stairs) upTo(n int64) set {
	return s.bins.row(sort.Search(len(s.steps), func(i int) bool { return s.steps[i] > n }))
}

// kinds are the needs that differ in more than threads and memory, each with its bins. Pinned bins are in none.
type kinds struct {
	needs []contract.Needs
	bins  []set
	none  set // the bins of no kind
}

func kindsOf(bins []*bin) kinds {
	k := kinds{none: newSet(len(bins))}
	byKey := map[string]int{}
	for i, b := range bins {
		if b.mac != "" {
			k.none.add(i)
			continue
		}
		needs := *b.needs
		needs.CPU, needs.Memory = 0, 0
		key := keyOf(&needs)
		kind, known := byKey[key]
		if !known {
			kind = len(k.needs)
			byKey[key], k.needs, k.bins = kind, append(k.needs, needs), append(k.bins, newSet(len(bins)))
		}
		k.bins[kind].add(i)
	}
	return k
}

// strike takes from the bins of a row those of whose kind the host is not.
func (k kinds) strike(row set, host *hosts.Host) {
	for i := range row {
		row[i] &^= k.none[i]
	}
	for kind := range k.needs {
		if row.meets(k.bins[kind]) && !meets(&k.needs[kind], host) {
			for i := range row {
				row[i] &^= k.bins[kind][i]
			}
		}
	}
}
