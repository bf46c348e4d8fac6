package assign

import (
	"cmp"
	"slices"
)

// score ranks complete matchings; lower is better.
type score struct {
	dropped   int   // preferred held hosts that are not matched
	cost      cost  // sum of the costs of the matched hosts that are not preferred held hosts
	relocated int   // preferred held hosts that are matched, but not in their current class
	hosts     []int // the hosts whose costs are in cost, sorted by name
}

func (w *work) scoreOf(m *matching) score {
	s := score{}
	stay := newSet(len(w.hosts))
	for _, h := range w.preferred {
		stay.add(h)
		switch {
		case m.nodeOf[h] == none:
			s.dropped++
		case int(m.classOf[m.nodeOf[h]]) != w.currentClass[h]:
			s.relocated++
		}
	}
	for h, node := range m.nodeOf {
		if node != none && !stay.has(h) {
			s.cost = s.cost.plus(w.costOf(h))
			s.hosts = append(s.hosts, h)
		}
	}
	return s
}

func (s score) compare(t score) int {
	return cmp.Or(cmp.Compare(s.dropped, t.dropped), s.cost.compare(t.cost), cmp.Compare(s.relocated, t.relocated), slices.Compare(s.hosts, t.hosts))
}
