package assign

// search is the state of the breadth-first search for an augmenting path. A round is the search for
// one host.
type search struct {
	round     int32
	seen      []int32 // per node: the round in which it was last reached
	seenClass []int32 // per class: the round in which its shared places were last reached
	from      []int32 // per node: the host that would move to it, or viaShared
	via       []int32 // per class: the node that would use a shared place
	closed    set     // classes with one domain that the search does not need to visit in this round: they are reached or dead
	dead      set     // classes with one domain that no later search needs to visit
	queue     []int32 // the nodes to visit; a negative n stands for the shared places of class -1-n
}

const (
	viaShared = -2        // value in from: the node is reached because one of its hosts can give up a shared place
	deadNode  = 1<<31 - 1 // value in seen and seenClass: no later search needs to visit the node or class
)

func newSearch(classes, nodes int) search {
	return search{
		seen: make([]int32, nodes), seenClass: make([]int32, classes), from: make([]int32, nodes), via: make([]int32, classes),
		closed: newSet(classes), dead: newSet(classes),
	}
}

// augment places an unmatched host, and moves other hosts if necessary. The search is breadth
// first, so that as few hosts as possible are moved. If the search fails, a later search that
// reaches one of the same nodes cannot succeed there. Therefore, these nodes are never searched
// again.
func (m *matching) augment(host int) {
	m.round++
	copy(m.closed, m.dead)
	m.queue = m.queue[:0]
	end := m.tryHost(host)
	for i := 0; i < len(m.queue) && end == none; i++ {
		if n := m.queue[i]; n < 0 {
			m.reachSharers(-1 - n)
		} else {
			end = m.tryNode(n)
		}
	}
	if end == none {
		m.markDead()
		return
	}
	m.shift(host, end)
	m.unfilled--
}

// tryHost adds to the queue the nodes to which a host can move. If one of them has a free place,
// tryHost returns it, otherwise none.
func (m *matching) tryHost(host int) int32 {
	for b := range m.w.fits.row(host).without(m.closed) {
		node := m.node(host, b)
		if m.seen[node] == m.round || m.seen[node] == deadNode {
			continue
		}
		m.reach(node, int32(host))
		if m.free(node) {
			return node
		}
		if _, high := m.bounds(node); m.occupied[node] < high && m.seenClass[b] != m.round && m.seenClass[b] != deadNode {
			m.seenClass[b], m.via[b] = m.round, node
			m.queue = append(m.queue, int32(-1-b))
		}
	}
	return none
}

func (m *matching) tryNode(node int32) int32 {
	for h := m.head[node]; h != none; h = m.next[h] {
		if end := m.tryHost(int(h)); end != none {
			return end
		}
	}
	return none
}

// reachSharers adds to the queue the domains of a class in which a host uses a shared place. If
// such a host moves to another class, its shared place becomes free.
func (m *matching) reachSharers(class int32) {
	for d, low := range m.capacities[class].low {
		node := m.firstNode[class] + int32(d)
		if m.occupied[node] > low && m.seen[node] != m.round && m.seen[node] != deadNode {
			m.reach(node, viaShared)
		}
	}
}

func (m *matching) reach(node, from int32) {
	m.seen[node], m.from[node] = m.round, from
	m.queue = append(m.queue, node)
	if b := int(m.classOf[node]); len(m.capacities[b].low) == 1 {
		m.closed.add(b)
	}
}

// markDead marks the nodes that a failed search has reached, so that no later search visits them.
func (m *matching) markDead() {
	for _, n := range m.queue {
		if n < 0 {
			m.seenClass[-1-n] = deadNode
			continue
		}
		m.seen[n] = deadNode
		if b := int(m.classOf[n]); len(m.capacities[b].low) == 1 {
			m.dead.add(b)
		}
	}
}

// shift moves the hosts along the path that the search found. The path leads from start, which is
// the unmatched host, to node, which has a free place.
func (m *matching) shift(start int, node int32) {
	for {
		for m.from[node] == viaShared {
			node = m.via[m.classOf[node]]
		}
		host := int(m.from[node])
		before := m.nodeOf[host]
		m.leave(host)
		m.enter(host, node)
		if host == start {
			return
		}
		node = before
	}
}
