package assign

import (
	"cmp"
	"slices"
)

// member is a host with a place in a set.
type member struct {
	host    int
	number  int // number in its node name; 0: it needs a new name
	standby bool
	grade   int // active, standby or unheld
}

// Grades of the members of a set, in the order in which they become active.
const (
	active  = iota // held for an active node
	standby        // held as a standby
	unheld         // new, or a standby in trouble
)

// members decides which hosts of a set are active and which are standby. An active host stays
// active. If more active nodes are needed, standby hosts are taken before new hosts, but a standby
// host in trouble is treated like a new host. Among equal hosts, a host in the emptiest domain is
// taken first, so that the active nodes alone are also spread as evenly as possible. Then the
// lowest number decides, then the lowest cost.
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
	for i := 1; i < len(all); i++ { // two hosts have the same number: the second one gets a new name
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

// compareCost compares hosts by cost, then by name.
func (w *work) compareCost(a, b int) int {
	return cmp.Or(w.costOf(a).compare(w.costOf(b)), cmp.Compare(a, b))
}
