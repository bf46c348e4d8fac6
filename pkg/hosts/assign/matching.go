package assign

const none = -1

// matching grows a maximum matching of hosts and places, one host at a time, along augmenting paths: a flow of hosts into the domains of the
// bins, and what these have beyond their own places out of the common ones. A host that is in stays in, though it may move.
type matching struct {
	w          *work
	capacities []capacity
	first      []int32 // per bin: its first node; a node is a domain of a bin
	binOf      []int32 // per node
	left       int     // places to fill

	nodeOf     []int32 // per host, or none
	head       []int32 // per node: a host in it, or none
	next, prev []int32 // per host: the others in its node
	has        []int   // per node: hosts in it
	flexed     []int   // per bin: places in use that are kept for no domain

	search
}

func newMatching(w *work, capacities []capacity) *matching {
	m := &matching{w: w, capacities: capacities, flexed: make([]int, len(capacities))}
	for b := range capacities {
		m.first = append(m.first, int32(len(m.binOf)))
		m.left += capacities[b].flex
		for d := range capacities[b].low {
			m.binOf = append(m.binOf, int32(b))
			m.left += capacities[b].low[d]
		}
	}
	m.nodeOf, m.next, m.prev = many(len(w.hosts)), many(len(w.hosts)), many(len(w.hosts))
	m.head, m.has = many(len(m.binOf)), make([]int, len(m.binOf))
	m.search = newSearch(len(capacities), len(m.binOf))
	return m
}

func many(n int) []int32 {
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
			m.pair(class.pins[0], b)
		}
	}
	for _, h := range m.w.stay {
		m.goHome(h)
	}
	for _, order := range [][]int{m.w.stay, m.w.order} {
		for _, h := range order {
			if m.left == 0 {
				return
			}
			if m.nodeOf[h] == none {
				m.goHome(h)
			}
			if m.nodeOf[h] == none {
				m.add(h)
			}
		}
	}
}

// goHome pairs a host that is out with its present place, if it has one and that is free.
func (m *matching) goHome(host int) {
	if home := m.w.home[host]; home != none && m.w.fits.row(host).has(home) {
		m.pair(host, home)
	}
}

// pair gives a host that is out a place if one is free.
func (m *matching) pair(host, class int) {
	if node := m.node(host, class); m.nodeOf[host] == none && m.free(node) {
		m.enter(host, node)
		m.left--
	}
}

func (m *matching) node(host, class int) int32 {
	return m.first[class] + m.capacities[class].domain(host)
}

// bounds of a node.
func (m *matching) bounds(node int32) (low, high int) {
	b := m.binOf[node]
	d := node - m.first[b]
	return m.capacities[b].low[d], m.capacities[b].high[d]
}

// free reports whether a node takes one more host as things are.
func (m *matching) free(node int32) bool {
	b := m.binOf[node]
	low, high := m.bounds(node)
	return m.has[node] < low || m.has[node] < high && m.flexed[b] < m.capacities[b].flex
}

func (m *matching) enter(host int, node int32) {
	if low, _ := m.bounds(node); m.has[node] >= low {
		m.flexed[m.binOf[node]]++
	}
	m.has[node]++
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
	m.has[node]--
	if low, _ := m.bounds(node); m.has[node] >= low {
		m.flexed[m.binOf[node]]--
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
func (m *matching) in(class int) []int {
	var hosts []int
	for d := range m.capacities[class].low {
		for h := m.head[int(m.first[class])+d]; h != none; h = m.next[h] {
			hosts = append(hosts, int(h))
		}
	}
	return hosts
}
