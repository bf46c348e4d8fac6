package hosts

import (
	"cmp"
	"slices"
)

// score compares complete matchings; the lower the better.
type score struct {
	moved int   // hosts that we hold and that are not kept
	cost  cost  // of the hosts that we do not hold yet
	away  int   // hosts that we hold, not in their present place
	hosts []int // the others, by name
}

func (w *world) scoreOf(m *matching) score {
	s := score{}
	mine := newSet(len(w.hosts))
	for _, h := range w.mine {
		mine.add(h)
		switch {
		case m.nodeOf[h] == none:
			s.moved++
		case int(m.binOf[m.nodeOf[h]]) != w.home[h]:
			s.away++
		}
	}
	for h, node := range m.nodeOf {
		if node != none && !mine.has(h) {
			s.cost = s.cost.plus(costOf(w.hosts[h]))
			s.hosts = append(s.hosts, h)
		}
	}
	return s
}

func (s score) compare(t score) int {
	return cmp.Or(cmp.Compare(s.moved, t.moved), s.cost.compare(t.cost), cmp.Compare(s.away, t.away), slices.Compare(s.hosts, t.hosts))
}
