package assign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// work is what is known when hosts are assigned. Hosts and bins are known by their index. Once it is made it
// does not change, apart from counting what is spent.
type work struct {
	request      contract.Request
	me           hosts.Owner
	hosts        []*hosts.Host // by name
	classes      []*class
	pinned       set   // hosts that pinned slots can have: no other place may have them
	fits         table // per host: the bins whose places it may take
	order        []int // hosts, those first that we would rather use
	movable      []int // hosts that we hold and that may move, those first that shall rather stay
	preferred    []int // those of mine that no free host is preferred to, in the same order
	currentClass []int // per host: the bin of its present place, or none
	// fixedIn is, per host, the bin in which it is settled, or none; retiredFrom the set that it is to leave, or nil.
	fixedIn     []int
	retiredFrom []*contract.Set

	spent int // matchings made so far
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

// reservePinned keeps the hosts that pinned slots can have for those slots. No assignment gives such a host to another node, so it must not count
// where a set is spread, nor in an explanation, as a host that the other node could have.
func (w *work) reservePinned() {
	w.pinned = newSet(len(w.hosts))
	for _, c := range w.classes {
		if c.mac != "" && c.places > 0 && len(c.pins) == 1 && w.obstacle(c, c.pins[0]) == noObstacle {
			w.pinned.add(c.pins[0])
		}
	}
}

// matchNeeds notes who fits where. Threads and memory, of which there may be as many as there are slots, are looked up in steps; of all
// else there are few kinds, which are asked one by one.
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
		for h, s := range w.retiredFrom {
			if s != nil && s == c.set {
				w.fits.row(h).remove(i)
			}
		}
	}
}

// byCost orders the hosts. Because a matching that grows host by host never lets go of a host, and the sets of hosts that can be matched form
// a matroid, going through them in this order gives the cheapest set of all. Equal ones go by name, those before first last.
func (w *work) byCost(first string) {
	w.order = w.order[:0]
	costs := make([]cost, len(w.hosts))
	for h := range w.hosts {
		costs[h] = w.costOf(h)
		if !w.fits.row(h).isEmpty() {
			w.order = append(w.order, h)
		}
	}
	early := func(h int) int { return count(w.hosts[h].Name < first) }
	slices.SortFunc(w.order, func(a, b int) int {
		return cmp.Or(costs[a].compare(costs[b]), cmp.Compare(early(a), early(b)), cmp.Compare(a, b))
	})
}
