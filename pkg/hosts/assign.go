package hosts

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// Assignment says which host becomes which node: those of the slots in the order of the slots, then those of the sets, by set, the active ones
// first.
type Assignment []Placed

// Placed is a node and its host.
type Placed struct {
	Node    string
	Roles   []string
	Set     string // empty for a slot
	Standby bool
	MAC     string // that the slot is pinned to
	Host    string
}

// Hosts are the names of the assigned hosts, sorted.
func (a Assignment) Hosts() []string {
	var names []string
	for _, p := range a {
		names = append(names, p.Host)
	}
	slices.Sort(names)
	return names
}

// Assign finds a host for every node that a request asks for, or explains with a *NoFit why there is none. Pinned slots get their hosts. Hosts
// that are held for the request's Provisioning stay where they are as far as that leaves a host for every node; of the others the smallest
// that do are taken, those with SR-IOV or QAT last, so that the big and the special ones are left for who needs them.
func Assign(request contract.Request, all []Host) (Assignment, error) {
	w := newWorld(request, all)
	w.keep()
	for _, h := range w.byCost() {
		if w.free == 0 {
			break
		}
		if w.slotOf[h] == none {
			w.add(h)
		}
	}
	if w.free > 0 {
		return nil, w.explain()
	}
	var found Assignment
	for s, h := range w.hostOf {
		slot := w.slots[s]
		found = append(found, Placed{Node: slot.Name, Roles: slot.Roles, MAC: slot.MAC, Host: w.hosts[h].Name})
	}
	return found, nil
}

// world is the state of one assignment: a matching of slots and hosts, which are known by their index.
type world struct {
	matching
	slots  []contract.Slot
	hosts  []Host // by name
	me     Owner
	access contract.Access
	pins   [][]int // per slot: the hosts with its MAC address; the pin can be kept if there is exactly one
}

func newWorld(request contract.Request, all []Host) *world {
	slots := request.Slots
	w := &world{
		slots: slots, hosts: slices.Clone(all), me: OwnerOf(request), access: request.Access, pins: make([][]int, len(slots)),
	}
	slices.SortFunc(w.hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	owners := map[string][]int{}
	for h, host := range w.hosts {
		for _, mac := range slices.Compact(slices.Sorted(slices.Values(host.MACs))) {
			owners[mac] = append(owners[mac], h)
		}
	}
	for s, slot := range slots {
		if slot.MAC != "" {
			w.pins[s] = owners[slot.MAC]
		}
	}
	w.matching = newMatching(w.smallestFirst(), len(w.hosts), w.fits)
	return w
}

// smallestFirst orders the slots by what they need, so that small slots get the small hosts; among equals the order of the spec decides.
func (w *world) smallestFirst() []int {
	order := make([]int, len(w.slots))
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := w.slots[a], w.slots[b]
		return cost{special(x.SRIOV, x.QAT), size(x.CPU, x.Memory), ""}.compare(cost{special(y.SRIOV, y.QAT), size(y.CPU, y.Memory), ""})
	})
	return order
}

// keep starts the matching with the pinned hosts and then with what we hold, in its present place.
func (w *world) keep() {
	for s, pin := range w.pins {
		if len(pin) == 1 {
			w.pair(s, pin[0])
		}
	}
	named := map[string]int{}
	for s, slot := range w.slots {
		named[slot.Name] = s
	}
	for h, host := range w.hosts {
		if s, ok := named[host.Node]; ok && w.me.Holds(host) {
			w.pair(s, h)
		}
	}
	for h, host := range w.hosts {
		if w.me.Holds(host) && w.slotOf[h] == none {
			w.add(h)
		}
	}
}

// byCost orders the hosts, those first that we would rather use. Because a matching that grows host by host never lets go of a host, and
// the sets of hosts that can be matched form a matroid, going through them in this order gives the cheapest set of all.
func (w *world) byCost() []int {
	order := make([]int, len(w.hosts))
	for h := range order {
		order[h] = h
	}
	slices.SortFunc(order, func(a, b int) int { return w.cost(a).compare(w.cost(b)) })
	return order
}

func (w *world) cost(h int) cost {
	host := w.hosts[h]
	return cost{special(host.SRIOV, host.QAT), size(host.CPU, host.Memory), host.Name}
}

// cost of a host: rather one without special hardware, rather a small one.
type cost struct {
	special int
	size    int64
	name    string
}

func (c cost) compare(d cost) int {
	return cmp.Or(cmp.Compare(c.special, d.special), cmp.Compare(c.size, d.size), cmp.Compare(c.name, d.name))
}

func special(sriov, qat bool) int {
	n := 0
	for _, has := range []bool{sriov, qat} {
		if has {
			n++
		}
	}
	return n
}

// size makes one number of threads and bytes; a thread weighs 4Gi, as they usually come.
func size(cpu int, memory int64) int64 {
	return int64(cpu)<<32 + memory
}
