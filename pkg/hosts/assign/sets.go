package assign

import (
	"cmp"
	"slices"
)

// member is a host with a place in a set.
type member struct {
	host    int
	number  int // of its name, 0: it needs one
	standby bool
	grade   int // see roles
}

// Who is active by right comes first, then who is held for it, then who is new.
const (
	active = iota
	standby
	unheld
)

// members says which hosts of a set are active and which stand by. An active one stays so. Where some are wanted, standby hosts come before
// new ones, if they are well; among equals the emptiest domain comes first, so that the active nodes by themselves are spread as evenly as all, then the lowest
// number, then the cheapest host.
func (w *work) members(class int, hosts []int) []member {
	c := w.classes[class]
	var all []member
	for _, h := range hosts {
		host, m := w.hosts[h], member{host: h, grade: unheld, standby: true}
		if w.currentClass[h] == class {
			m.number, m.grade = number(c.set.Name, host.Node), active
			switch {
			case host.Standby && w.replaceable(h):
				m.grade = unheld
			case host.Standby:
				m.grade = standby
			}
		}
		all = append(all, m)
	}
	domain := func(m member) int32 {
		if c.domains == nil {
			return 0
		}
		return c.domains.of[m.host]
	}
	perDomain := map[int32]int{}
	slices.SortFunc(all, func(x, y member) int {
		return cmp.Or(cmp.Compare(x.grade, y.grade), cmp.Compare(x.number, y.number), cmp.Compare(w.fixedIn[y.host], w.fixedIn[x.host]), w.compareCost(x.host, y.host))
	})
	for i := 1; i < len(all); i++ { // two hosts in one name: the second gets another
		if all[i].number == all[i-1].number && all[i].grade == all[i-1].grade {
			all[i].number = 0
		}
	}
	for range min(c.set.Active, len(all)) {
		next := none
		for i, m := range all {
			if m.standby && (next == none || m.grade == all[next].grade && perDomain[domain(m)] < perDomain[domain(all[next])]) {
				next = i
			}
		}
		all[next].standby = false
		perDomain[domain(all[next])]++
	}
	slices.SortStableFunc(all, func(x, y member) int { return cmp.Compare(count(x.standby), count(y.standby)) })
	return all
}

// rather compares hosts by what they cost.
func (w *work) compareCost(a, b int) int {
	return cmp.Or(w.costOf(a).compare(w.costOf(b)), cmp.Compare(a, b))
}
