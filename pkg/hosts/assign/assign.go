package assign

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// Assignment says which host becomes which node: those of the slots in the order of the slots, then those of the sets, by set, the active ones
// first, by number.
type Assignment []Placed

// Placed is a node and its host.
type Placed struct {
	Node    string
	Roles   []string
	Set     string // empty for a slot
	Standby bool
	MAC     string // that the slot is pinned to
	Host    string
	// Lacks is what an installed host does not meet of what is asked for now, such as "below 16Gi": it stays all the same.
	Lacks string
}

// MissingStandby tells, by the name of the set, how many standby hosts the assignment lacks. It can lack some only of sets whose active
// nodes are held already.
func (a Assignment) MissingStandby(request contract.Request) map[string]int {
	missing := map[string]int{}
	for _, s := range request.Sets {
		missing[s.Name] = s.Active + s.Standby
	}
	for _, p := range a {
		if p.Set != "" {
			missing[p.Set]--
		}
	}
	for name, n := range missing {
		if n == 0 {
			delete(missing, name)
		}
	}
	return missing
}

// Assign finds a host for every node that a request asks for, or explains with a *NoFit why there is none. Pinned slots get their hosts. Hosts
// that are held for the request's Provisioning stay where they are as far as that leaves a host for every node, those that are installed in
// any case, and a host in trouble makes room for one that is well. Of the others, hosts that are well come before those in trouble, and hosts with the
// request's OS image, or none, before those with another one. Then the smallest that do are taken, those with SR-IOV or QAT last, so that the big and
// the special ones are left for who needs them. Of equal hosts those with the lower names are taken.
func Assign(request contract.Request, all []hosts.Host) (Assignment, error) {
	return AssignFrom(request, all, "")
}

// AssignFrom is Assign, but of equal hosts it takes first those whose names are not before the given one. Claimants who met over the same hosts part
// so.
func AssignFrom(request contract.Request, all []hosts.Host, first string) (Assignment, error) {
	w := newWork(request, all)
	if first != "" {
		w.byCost(first)
	}
	found, wanted := w.solve()
	if found.matching == nil {
		return nil, w.explain(wanted, found.gaveUp)
	}
	return w.read(found.matching), nil
}

// read turns a matching into nodes with names.
func (w *work) read(m *matching) Assignment {
	bySlot := make([]Placed, len(w.request.Slots))
	bySet, lacks := map[string][]member{}, map[string]string{}
	for i, c := range w.classes {
		hosts := append(m.hostsIn(i), c.fixed...)
		for _, h := range c.fixed {
			lacks[w.hosts[h].Name] = shortfall(c.needs, w.hosts[h])
		}
		if c.set != nil {
			bySet[c.set.Name] = w.members(i, hosts)
			continue
		}
		for slot, h := range w.place(c, hosts) {
			s := w.request.Slots[slot]
			bySlot[slot] = Placed{Node: s.Name, Roles: s.Roles, MAC: s.MAC, Host: w.hosts[h].Name}
		}
	}
	found := w.name(bySlot, bySet)
	for i := range found {
		found[i].Lacks = lacks[found[i].Host]
	}
	return found
}

// name puts the nodes of the sets after those of the slots.
func (w *work) name(bySlot []Placed, bySet map[string][]member) Assignment {
	found, names := Assignment(bySlot), w.namer()
	for _, s := range w.request.Sets {
		first := len(found)
		for _, m := range bySet[s.Name] {
			p := Placed{Node: w.hosts[m.host].Node, Roles: s.Roles, Set: s.Name, Standby: m.standby, Host: w.hosts[m.host].Name}
			if m.number == 0 {
				p.Node = names.next(s.Name)
			}
			found = append(found, p)
		}
		slices.SortStableFunc(found[first:], func(a, b Placed) int {
			return cmp.Or(cmp.Compare(count(a.Standby), count(b.Standby)), cmp.Compare(number(s.Name, a.Node), number(s.Name, b.Node)))
		})
	}
	return found
}

// place puts the hosts of a bin, which may be too few, into its slots: each that is held for one into that, the others in the order of their cost.
func (w *work) place(c *class, hosts []int) map[int]int {
	placed := map[int]int{}
	var rest []int
	slices.SortFunc(hosts, func(x, y int) int {
		return cmp.Or(cmp.Compare(w.fixedIn[y], w.fixedIn[x]), w.compareCost(x, y)) // who is settled is in before all others
	})
	for _, h := range hosts {
		s := w.presentSlot(c, h)
		if _, taken := placed[s]; s == none || taken {
			rest = append(rest, h)
			continue
		}
		placed[s] = h
	}
	for _, s := range c.slots {
		if _, taken := placed[s]; !taken && len(rest) > 0 {
			placed[s], rest = rest[0], rest[1:]
		}
	}
	return placed
}

// presentSlot is the slot of a bin that a host is held for, or none.
func (w *work) presentSlot(c *class, h int) int {
	if host := w.hosts[h]; w.me.Holds(*host) {
		for _, s := range c.slots {
			if w.request.Slots[s].Name == host.Node {
				return s
			}
		}
	}
	return none
}
