package assign

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// work is the input of one assignment in the form that the solver needs. Hosts and classes are
// referred to by their index. After newWork, nothing changes except order and spent.
type work struct {
	request      contract.Request
	me           hosts.Owner
	hosts        []*hosts.Host // sorted by name
	classes      []*class
	pinned       set   // hosts that pinned slots can have; other classes cannot use them
	fits         table // per host: the classes that it fits
	order        []int // hosts that fit a class, cheapest first
	movable      []int // held hosts that may move to another place; hosts that keep their place most firmly come first
	preferred    []int // the hosts of movable that should stay held (see replaceable), in the same order
	currentClass []int // per host: the class of its current place, or none
	// fixedIn[h] is the class in which the place of host h is fixed, or none. retiredFrom[h] is the
	// set that host h must leave, or nil.
	fixedIn     []int
	retiredFrom []*contract.Set

	spent int // number of matchings computed so far
}

func newWork(request contract.Request, all []hosts.Host) *work {
	w := &work{request: request, me: hosts.OwnerOf(request), classes: newClasses(request), hosts: make([]*hosts.Host, len(all))}
	all = markDuplicates(all, request.Access)
	for h := range all {
		w.hosts[h] = &all[h]
	}
	slices.SortFunc(w.hosts, func(a, b *hosts.Host) int { return strings.Compare(a.Name, b.Name) })
	w.currentClass, w.fixedIn = slices.Repeat([]int{none}, len(all)), slices.Repeat([]int{none}, len(all))
	w.retiredFrom = make([]*contract.Set, len(all))
	w.findPins()
	w.findCurrentClasses()
	w.retire()
	w.fixInstalled()
	w.reservePinned()
	w.matchNeeds()
	w.byCost("")
	w.findDomains()
	w.findSpare()
	return w
}

// findPins finds the hosts with the MAC addresses of the pinned slots.
func (w *work) findPins() {
	wanted := map[string][]*class{}
	for _, c := range w.classes {
		if c.mac != "" {
			wanted[c.mac] = append(wanted[c.mac], c)
		}
	}
	if len(wanted) == 0 {
		return
	}
	for h, host := range w.hosts {
		for _, mac := range host.MACs {
			for _, c := range wanted[mac] {
				if !slices.Contains(c.pins, h) {
					c.pins = append(c.pins, h)
				}
			}
		}
	}
}

// reservePinned reserves, for each pinned slot, the host that the slot can have. No assignment
// gives such a host to another node. Therefore, the host must not count for the spread of a set,
// and an error must not name it as a host that another node could have.
func (w *work) reservePinned() {
	w.pinned = newSet(len(w.hosts))
	for _, c := range w.classes {
		if c.mac != "" && c.places > 0 && len(c.pins) == 1 && w.obstacle(c, c.pins[0]) == noObstacle {
			w.pinned.add(c.pins[0])
		}
	}
}

// matchNeeds computes fits. The requirements on CPU and memory can have as many different values as
// there are slots, so these values are sorted and searched. The other requirements have only a few
// different combinations, which are checked one by one.
func (w *work) matchNeeds() {
	cpu := newThresholds(w.classes, func(n *contract.Needs) int64 { return int64(n.CPU) })
	memory := newThresholds(w.classes, func(n *contract.Needs) int64 { return n.Memory })
	kinds := kindsOf(w.classes)
	w.fits = newTable(len(w.hosts), len(w.classes))
	for h, host := range w.hosts {
		if w.hostObstacle(h) != noObstacle || w.pinned.has(h) {
			continue
		}
		if row := w.fits.row(h); host.Unreachable("", &w.request) == "" {
			c, m := cpu.upTo(int64(host.CPU)), memory.upTo(host.Memory)
			for i := range row {
				row[i] = c[i] & m[i]
			}
			kinds.exclude(row, host)
		}
	}
	for i, c := range w.classes {
		if c.mac != "" && len(c.pins) == 1 && w.obstacle(c, c.pins[0]) == noObstacle {
			w.fits.row(c.pins[0]).add(i)
		}
	}
	for h, s := range w.retiredFrom {
		if s != nil {
			w.fits.row(h).remove(slices.IndexFunc(w.classes, func(c *class) bool { return c.set == s }))
		}
	}
}

// byCost sorts the hosts by cost, cheapest first. Adding the hosts to a matching in this order
// gives the cheapest set of hosts. The reason is that a matched host stays matched when others are
// added, and that the sets of hosts that can be matched form a matroid. Hosts of equal cost are
// sorted by name, beginning with the name in parameter first. Lower names are at the end.
func (w *work) byCost(first string) {
	w.order = w.order[:0]
	costs := make([]cost, len(w.hosts))
	for h := range w.hosts {
		costs[h] = w.costOf(h)
		if !w.fits.row(h).isEmpty() {
			w.order = append(w.order, h)
		}
	}
	start := sort.Search(len(w.hosts), func(h int) bool { return w.hosts[h].Name >= first })
	slices.SortFunc(w.order, func(a, b int) int {
		if c := costs[a].compare(costs[b]); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(count(a < start), count(b < start)), cmp.Compare(a, b))
	})
}
