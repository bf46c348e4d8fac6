package assign

import (
	"slices"
	"sort"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// thresholds finds the classes that require no more than a given number.
type thresholds struct {
	steps   []int64 // ascending
	classes table   // row i: classes that require less than steps[i]; the last row: all classes
}

func newThresholds(classes []*class, of func(*contract.Needs) int64) thresholds {
	var s thresholds
	for _, c := range classes {
		s.steps = append(s.steps, of(c.needs))
	}
	slices.Sort(s.steps)
	s.steps = slices.Compact(s.steps)
	s.classes = newTable(len(s.steps)+1, len(classes))
	for i, c := range classes {
		step, _ := slices.BinarySearch(s.steps, of(c.needs))
		s.classes.row(step + 1).add(i)
	}
	for step := range s.steps {
		row, before := s.classes.row(step+1), s.classes.row(step)
		for i := range row {
			row[i] |= before[i]
		}
	}
	return s
}

// upTo returns the classes that require at most n.
func (s thresholds) upTo(n int64) set {
	return s.classes.row(sort.Search(len(s.steps), func(i int) bool { return s.steps[i] > n }))
}

// kinds are the distinct combinations of requirements other than CPU and memory, each with the
// classes that have it. Pinned classes are in none of them.
type kinds struct {
	needs   []contract.Needs
	classes []set
	none    set // the pinned classes, which have no kind
}

func kindsOf(classes []*class) kinds {
	k := kinds{none: newSet(len(classes))}
	byKey := map[string]int{}
	for i, c := range classes {
		if c.mac != "" {
			k.none.add(i)
			continue
		}
		needs := *c.needs
		needs.CPU, needs.Memory = 0, 0
		key := keyOf(&needs)
		kind, known := byKey[key]
		if !known {
			kind = len(k.needs)
			byKey[key], k.needs, k.classes = kind, append(k.needs, needs), append(k.classes, newSet(len(classes)))
		}
		k.classes[kind].add(i)
	}
	return k
}

// exclude removes from a row the classes whose requirements the host does not meet, and the pinned
// classes.
func (k kinds) exclude(row set, host *hosts.Host) {
	for i := range row {
		row[i] &^= k.none[i]
	}
	for kind := range k.needs {
		if row.meets(k.classes[kind]) && !meets(&k.needs[kind], host) {
			for i := range row {
				row[i] &^= k.classes[kind][i]
			}
		}
	}
}
