package assign

const none = -1

// matching grows a maximum matching of hosts and places, one host at a time, along augmenting paths: a flow of hosts into the domains of the
// bins, and what these have beyond their own places out of the common ones. A host that is in stays in, though it may move.
type matching struct {
	w          *work
	capacities []capacity
	firstNode  []int32 // per bin: its first node; a node is a domain of a bin
	classOf    []int32 // per node
	unfilled   int     // places to fill

	nodeOf     []int32 // per host, or none
	head       []int32 // per node: a host in it, or none
	next, prev []int32 // per host: the others in its node
	occupied   []int   // per node: hosts in it
	sharedUsed []int   // per bin: places in use that are kept for no domain

	search
}

func newMatching(w *work, capacities []capacity) *matching {
	m := &matching{w: w, capacities: capacities, sharedUsed: make([]int, len(capacities))}
	for b := range capacities {
		m.firstNode = append(m.firstNode, int32(len(m.classOf)))
		m.unfilled += capacities[b].shared
		for d := range capacities[b].low {
			m.classOf = append(m.classOf, int32(b))
			m.unfilled += capacities[b].low[d]
		}
	}
	m.nodeOf, m.next, m.prev = allNone(len(w.hosts)), allNone(len(w.hosts)), allNone(len(w.hosts))
	m.head, m.occupied = allNone(len(m.classOf)), make([]int, len(m.classOf))
	m.search = newSearch(len(capacities), len(m.classOf))
	return m
}

func allNone(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = none
	}
	return all
}

// fill brings in the pinned hosts, those that stay where they are held, the others that are held, and then the cheapest.
func (m *matching) fill() {
	for b, class := range m.w.classes {
		if class.mac != "" && len(class.pins) == 1 && m.w.fits.row(class.pins[0]).has(b) {
			m.tryPlace(class.pins[0], b)
		}
	}
	for _, h := range m.w.preferred {
		m.placeAtCurrent(h)
	}
	for _, order := range [][]int{m.w.preferred, m.w.order} {
		for _, h := range order {
			if m.unfilled == 0 {
				return
			}
			if m.nodeOf[h] == none {
				m.placeAtCurrent(h)
			}
			if m.nodeOf[h] == none {
				m.augment(h)
			}
		}
	}
}

// goHome pairs a host that is out with its present place, if it has one and that is free.
func (m *matching) placeAtCurrent(host int) {
	if current := m.w.currentClass[host]; current != none && m.w.fits.row(host).has(current) {
		m.tryPlace(host, current)
	}
}

// pair gives a host that is out a place if one is free.
func (m *matching) tryPlace(host, class int) {
	if node := m.node(host, class); m.nodeOf[host] == none && m.free(node) {
		m.enter(host, node)
		m.unfilled--
	}
}

func (m *matching) node(host, class int) int32 {
	return m.firstNode[class] + m.capacities[class].domain(host)
}

// bounds of a node.
func (m *matching) bounds(node int32) (low, high int) {
	b := m.classOf[node]
	d := node - m.firstNode[b]
	return m.capacities[b].low[d], m.capacities[b].high[d]
}

// free reports whether a node takes one more host as things are.
func (m *matching) free(node int32) bool {
	b := m.classOf[node]
	low, high := m.bounds(node)
	return m.occupied[node] < low || m.occupied[node] < high && m.sharedUsed[b] < m.capacities[b].shared
}

func (m *matching) enter(host int, node int32) {
	if low, _ := m.bounds(node); m.occupied[node] >= low {
		m.sharedUsed[m.classOf[node]]++
	}
	m.occupied[node]++
	m.nodeOf[host], m.next[host], m.prev[host] = node, m.head[node], none
	if m.head[node] != none {
		m.prev[m.head[node]] = int32(host)
	}
	m.head[node] = int32(host)
}

func (m *matching) leave(host int) {
	node := m.nodeOf[host]
	if node == none {
		return
	}
	m.occupied[node]--
	if low, _ := m.bounds(node); m.occupied[node] >= low {
		m.sharedUsed[m.classOf[node]]--
	}
	m.nodeOf[host] = none
	if m.prev[host] == none {
		m.head[node] = m.next[host]
	} else {
		m.next[m.prev[host]] = m.next[host]
	}
	if m.next[host] != none {
		m.prev[m.next[host]] = m.prev[host]
	}
}

// in lists the hosts in the places of a bin, those of one domain after the other.
func (m *matching) hostsIn(class int) []int {
	var hosts []int
	for d := range m.capacities[class].low {
		for h := m.head[int(m.firstNode[class])+d]; h != none; h = m.next[h] {
			hosts = append(hosts, int(h))
		}
	}
	return hosts
}
