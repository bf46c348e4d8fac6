package assign

// none is an index that stands for no host, no class or no node.
const none = -1

// matching assigns hosts to places. It grows to a maximum matching, one host at a time, along
// augmenting paths. It is a flow of hosts into nodes, where a node is one domain of a class. Each
// node has reserved places; further hosts of the node use the shared places of its class. A matched
// host stays matched, but it may move to another node.
type matching struct {
	w          *work
	capacities []capacity
	firstNode  []int32 // per class: its first node
	classOf    []int32 // per node
	unfilled   int     // number of places that are still to be filled

	nodeOf     []int32 // per host: its node, or none
	head       []int32 // per node: the first of its hosts, or none
	next, prev []int32 // per host: its neighbours in the list of the hosts of its node
	occupied   []int   // per node: number of hosts
	sharedUsed []int   // per class: number of shared places in use

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

// fill places the hosts in four steps: the pinned hosts; the preferred held hosts in their current
// classes; the preferred held hosts that have no place yet; and the cheapest hosts.
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

// placeAtCurrent places an unmatched host in its current class, if there is a free place.
func (m *matching) placeAtCurrent(host int) {
	if current := m.w.currentClass[host]; current != none && m.w.fits.row(host).has(current) {
		m.tryPlace(host, current)
	}
}

// tryPlace places an unmatched host in a class, if there is a free place. It does not move other
// hosts.
func (m *matching) tryPlace(host, class int) {
	if node := m.node(host, class); m.nodeOf[host] == none && m.free(node) {
		m.enter(host, node)
		m.unfilled--
	}
}

// node returns the node of a class to which the host belongs by its domain.
func (m *matching) node(host, class int) int32 {
	return m.firstNode[class] + m.capacities[class].domain(host)
}

// bounds returns the number of reserved places and the maximum number of places of a node.
func (m *matching) bounds(node int32) (low, high int) {
	b := m.classOf[node]
	d := node - m.firstNode[b]
	return m.capacities[b].low[d], m.capacities[b].high[d]
}

// free reports whether a node can take one more host without moving others.
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

// hostsIn lists the hosts in the places of a class, domain by domain.
func (m *matching) hostsIn(class int) []int {
	var hosts []int
	for d := range m.capacities[class].low {
		for h := m.head[int(m.firstNode[class])+d]; h != none; h = m.next[h] {
			hosts = append(hosts, int(h))
		}
	}
	return hosts
}
