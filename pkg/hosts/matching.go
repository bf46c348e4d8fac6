package hosts

const none = -1

// matching grows a maximum matching of slots and hosts, one host at a time, along augmenting paths. A host that is in stays in, though it
// may move to another slot.
type matching struct {
	order  []int                     // slots, in the order in which they are tried
	fits   func(slot, host int) bool // must not change its mind
	hostOf []int                     // per slot, or none
	slotOf []int                     // per host, or none
	dead   []bool                    // slots from which no free slot can be reached, now or ever
	free   int                       // slots without a host
}

func newMatching(order []int, hosts int, fits func(slot, host int) bool) matching {
	m := matching{order: order, fits: fits, free: len(order), dead: make([]bool, len(order))}
	for range order {
		m.hostOf = append(m.hostOf, none)
	}
	for range hosts {
		m.slotOf = append(m.slotOf, none)
	}
	return m
}

// pair joins a slot and a host if both are free and fit.
func (m *matching) pair(slot, host int) {
	if m.hostOf[slot] == none && m.slotOf[host] == none && m.fits(slot, host) {
		m.hostOf[slot], m.slotOf[host] = host, slot
		m.free--
	}
}

// add brings a free host in, moving as few others as possible (the search is breadth first). Where a search ends without success, no
// later one can succeed either, so what it saw is never searched again.
func (m *matching) add(host int) {
	cameFrom := map[int]int{} // slot: the host that would move there
	for queue := []int{host}; len(queue) > 0; queue = queue[1:] {
		for _, slot := range m.order {
			if _, seen := cameFrom[slot]; seen || m.dead[slot] || !m.fits(slot, queue[0]) {
				continue
			}
			cameFrom[slot] = queue[0]
			if m.hostOf[slot] == none {
				m.move(slot, cameFrom)
				return
			}
			queue = append(queue, m.hostOf[slot])
		}
	}
	for slot := range cameFrom {
		m.dead[slot] = true
	}
}

// move shifts the hosts along the path that ends at a free slot.
func (m *matching) move(slot int, cameFrom map[int]int) {
	m.free--
	for slot != none {
		host := cameFrom[slot]
		before := m.slotOf[host]
		m.hostOf[slot], m.slotOf[host] = host, slot
		slot = before
	}
}
