package assign

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// explain tells why a wish cannot be met. Either there would be no assignment even if nothing had to be spread, or the spread is why.
func (w *work) explain(wanted demand, gaveUp bool) *NoFit {
	capacities := make([]capacity, len(w.classes))
	for i := range w.classes {
		capacities[i] = openCapacity(wanted.places[i])
	}
	m := newMatching(w, capacities)
	m.fill()
	if m.unfilled == 0 {
		return w.explainSpread(wanted, gaveUp)
	}
	nodes, also := m.minimalConflict()
	e := w.noFit(m, nodes)
	e.Also = w.namesOf(also)
	for b, n := range nodes {
		if n > 0 {
			for _, h := range m.hostsIn(b) {
				e.Fitting = append(e.Fitting, w.hosts[h].Name)
			}
		}
	}
	slices.Sort(e.Fitting)
	return e
}

// minimalConflict finds a smallest set of nodes that cannot all have a host, of those that a finished matching shows: a node without a host, all nodes
// whose hosts it could have, all whose hosts those could have, and so on. Every host that any of them could have is among theirs, or else
// the matching would have grown; and if any one were not wanted, its host would pass on to the one without. It returns how many nodes of each bin, and
// how many others have no host.
func (m *matching) minimalConflict() (nodes, also []int) {
	rivals := m.rivals()
	best, start := []int(nil), none
	for b := range m.w.classes {
		if m.missing(b) == 0 {
			continue
		}
		if found := m.closure(rivals, b); start == none || cmp.Or(cmp.Compare(sum(found), sum(best)), cmp.Compare(m.w.specOrder(b), m.w.specOrder(start))) < 0 {
			best, start = found, b
		}
	}
	also = make([]int, len(m.w.classes))
	for b := range m.w.classes {
		also[b] = m.missing(b)
	}
	also[start]--
	return best, also
}

// missing is how many places of a bin are empty; the bin is not spread.
func (m *matching) missing(class int) int {
	return m.capacities[class].low[0] - m.occupied[m.firstNode[class]]
}

// rivals are, per bin, the bins that have a host which it could have.
func (m *matching) rivals() table {
	rivals := newTable(len(m.w.classes), len(m.w.classes))
	empty := newSet(len(m.w.classes))
	for h, node := range m.nodeOf {
		if node != none {
			for b := range m.w.fits.row(h).without(empty) {
				rivals.row(b).add(int(m.classOf[node]))
			}
		}
	}
	return rivals
}

// closure counts the nodes of the circuit of an empty place.
func (m *matching) closure(rivals table, start int) []int {
	nodes := make([]int, len(m.w.classes))
	reached := newSet(len(m.w.classes))
	reached.add(start)
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		nodes[queue[0]] = m.occupied[m.firstNode[queue[0]]]
		for b := range rivals.row(queue[0]).without(reached) {
			reached.add(b)
			queue = append(queue, b)
		}
	}
	nodes[start]++
	return nodes
}

// rank is where the spec names a bin: slots, then sets.
func (w *work) specOrder(class int) int {
	if c := w.classes[class]; c.set == nil {
		return c.slots[0]
	}
	return len(w.request.Slots) + slices.IndexFunc(w.request.Sets, func(s contract.Set) bool { return s.Name == w.classes[class].set.Name })
}

func sum(all []int) int {
	n := 0
	for _, i := range all {
		n += i
	}
	return n
}
