package assign

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// explain returns the reason why a demand cannot be met. If the demand cannot be met even without
// the spreads, there are too few hosts; otherwise, the spreads are the reason.
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

// minimalConflict finds a smallest set of nodes that cannot all have a host. m must be a finished
// matching.
//
// The set begins with one node without a host. If a node of the set could have a host that another
// node has, that other node is added. This is repeated until no node can be added. Then every host
// that a node of the set could have belongs to a node of the set; otherwise, the matching would not
// be finished. So only the first node has no host. If any other node of the set were not wanted,
// its host could be passed on to the first node. Of the sets that begin with different nodes, the
// smallest is returned.
//
// minimalConflict returns the number of nodes of the set per class. also is the number of other
// nodes without a host per class.
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

// missing returns the number of empty places of a class. The class must have no spread.
func (m *matching) missing(class int) int {
	return m.capacities[class].low[0] - m.occupied[m.firstNode[class]]
}

// rivals returns a table with one row per class. Row b contains a class if a host that fits class b
// has a place in that class.
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

// closure finds the set of nodes that minimalConflict describes. The set begins with one node of the
// class start that has no host. closure returns how many nodes of each class are in the set.
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

// specOrder returns a number by which classes can be sorted in the order of the spec: slots first,
// then sets.
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
