package assign

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// Assignment lists the wanted nodes and their hosts. The nodes of the slots come first, in the
// order of the slots. The nodes of the sets follow, set by set. Within a set, active nodes come
// before standby nodes, and both are ordered by number.
type Assignment []Placed

// Placed is a node and its host.
type Placed struct {
	Node    string
	Roles   []string
	Set     string // empty for a slot
	Standby bool
	MAC     string // the MAC address that the slot is pinned to; empty for other nodes
	Host    string
	// Lacks is the first current requirement that an installed host does not meet, such as "below
	// 16Gi". The host keeps its node in spite of it. Empty: the host meets all requirements.
	Lacks string
}

// MissingStandby returns the number of standby hosts that were requested and not found, by the name
// of the set. It can be greater than 0 only if the active nodes of the set are already held, or if
// a node of the cluster was installed before. Otherwise, missing standby hosts are a failure.
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

// Assign finds a host for every node that a request asks for, or returns a *NoFit that explains why
// no assignment exists or that the search gave up. Standby hosts may be missing, see
// MissingStandby.
//
// Pinned slots get their hosts. An installed node stays on its host, as long as the request asks
// for the node and the host is not lost. Assign keeps as many as possible of the other hosts that
// the Provisioning holds, provided that every node gets a host. These hosts may move to other
// nodes. A free host without trouble replaces a held host in trouble whose node is not installed.
//
// The remaining nodes get the first sufficient hosts of a list that is sorted as follows. Hosts in
// trouble are at the end. If the request has an OS image, hosts with another system are after those
// that have this image and those that have no operating system. Next, hosts with neither SR-IOV nor
// QAT precede hosts with them, and small hosts precede large ones, so that special and large hosts
// remain for nodes that need them. Among equal hosts, the lower name wins.
//
// If there are more than maxCombinations combinations of spreads, not all of them are tried. A
// better assignment may then exist.
func Assign(request contract.Request, all []hosts.Host) (Assignment, error) {
	return AssignFrom(request, all, "")
}

// AssignFrom is like Assign, but among equal hosts it begins with the name in parameter first, or
// the next higher name. Names below it are used last. Different values of first keep competing
// claimants from picking the same hosts.
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

// read converts a matching into an assignment, and gives names to the nodes.
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

// name gives names to the nodes of the sets, and appends these nodes to those of the slots.
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

// place assigns the hosts of a class to its slots, and returns the host of each slot. There may be
// fewer hosts than slots. A host that is held for one of the slots gets that slot. The other hosts
// fill the remaining slots in the order of their cost.
func (w *work) place(c *class, hosts []int) map[int]int {
	placed := map[int]int{}
	var rest []int
	slices.SortFunc(hosts, func(x, y int) int {
		return cmp.Or(cmp.Compare(w.fixedIn[y], w.fixedIn[x]), w.compareCost(x, y)) // installed hosts first
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

// presentSlot returns the slot of a class for which the host is already held; none: there is no
// such slot.
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
