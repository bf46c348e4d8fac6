package assign

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// findCurrentClasses finds the current class of each held host, and sorts the held hosts. Hosts
// that keep their place most firmly come first (see placeRank), and among equals the host with the
// lowest number.
func (w *work) findCurrentClasses() {
	byNode, bySet := map[string]int{}, map[string]int{}
	for i, c := range w.classes {
		if c.set != nil {
			bySet[c.set.Name] = i
		}
		for _, s := range c.slots {
			byNode[w.request.Slots[s].Name] = i
		}
	}
	for h, host := range w.hosts {
		if !w.me.Holds(*host) || host.Lost {
			continue
		}
		current, found := byNode[host.Node]
		if host.Set != "" {
			current, found = bySet[host.Set]
		}
		if found {
			w.currentClass[h] = current
		}
		w.movable = append(w.movable, h)
	}
	slices.SortStableFunc(w.movable, func(a, b int) int {
		return cmp.Or(cmp.Compare(w.placeRank(a), w.placeRank(b)), cmp.Compare(w.numberOf(a), w.numberOf(b)))
	})
}

// placeRank orders held hosts by how firmly they keep their place, firmest first: 0 for an active
// node, 1 for a standby, 2 for a host without a current class, because its node or set is not in
// the request.
func (w *work) placeRank(h int) int {
	switch {
	case w.currentClass[h] == none:
		return 2
	case w.hosts[h].Standby:
		return 1
	}
	return 0
}

// retire chooses the active nodes that leave a set which became smaller. They leave the set
// completely, because a node that is or may be installed cannot become a standby. Unusable hosts
// and hosts in trouble leave first, then hosts of the fullest domain, then the highest numbers.
func (w *work) retire() {
	for i, c := range w.classes {
		if c.set == nil {
			continue
		}
		actives := w.activesOf(i)
		for len(actives) > c.set.Active {
			next := 0
			domainSize := w.domainSizes(c, actives)
			for n, h := range actives {
				if w.leavesFirst(h, actives[next], domainSize) {
					next = n
				}
			}
			w.retiredFrom[actives[next]] = c.set
			actives = slices.Delete(actives, next, next+1)
		}
	}
}

// activesOf returns the hosts that are held for the active nodes of a set and that can keep their
// place.
func (w *work) activesOf(class int) []int {
	var actives []int
	for _, h := range w.movable {
		if host := w.hosts[h]; w.currentClass[h] == class && !host.Standby && (host.Installed || host.Unusable == "" && !host.Occupied(&w.request)) {
			actives = append(actives, h)
		}
	}
	return actives
}

// leavesFirst reports whether h leaves its set before other.
func (w *work) leavesFirst(h, other int, domainSize func(int) int) bool {
	trouble := func(h int) int { return count(w.hosts[h].Unusable != "" || w.hosts[h].Trouble != "") }
	return cmp.Or(
		cmp.Compare(trouble(h), trouble(other)), cmp.Compare(domainSize(h), domainSize(other)), cmp.Compare(w.numberOf(h), w.numberOf(other)), cmp.Compare(h, other),
	) > 0
}

// domainSizes returns a function that returns, for a host, how many members are in its domain.
func (w *work) domainSizes(c *class, members []int) func(h int) int {
	n := map[string]int{}
	domain := func(h int) string {
		if c.spread() == nil {
			return ""
		}
		return w.hosts[h].Labels[c.spread().TopologyKey]
	}
	for _, h := range members {
		n[domain(h)]++
	}
	return func(h int) int { return n[domain(h)] }
}

// fixInstalled fixes the places of installed hosts. As long as the request has a node, the node
// keeps its host until the host is lost. It keeps the host even if the host has trouble or no
// longer meets a requirement. If a slot is now pinned to another host, it counts as a different
// node.
func (w *work) fixInstalled() {
	taken := map[string]bool{}
	for _, h := range w.movable {
		host, current := w.hosts[h], w.currentClass[h]
		if current == none || !host.Installed || host.Standby || taken[host.Node] {
			continue
		}
		c := w.classes[current]
		if c.set != nil && w.retiredFrom[h] == c.set || c.mac != "" && !slices.Contains(c.pins, h) {
			continue
		}
		taken[host.Node] = true
		w.fixedIn[h] = current
		c.fixed, c.places = append(c.fixed, h), c.places-1
	}
	w.movable = slices.DeleteFunc(w.movable, func(h int) bool { return w.fixedIn[h] != none })
	w.preferred = slices.DeleteFunc(slices.Clone(w.movable), w.replaceable)
}

// replaceable reports whether a free host without trouble should replace a held host. This is true
// if the held host has no installed node and is powered off or being serviced, because no node can
// be installed on it then.
func (w *work) replaceable(h int) bool { return w.hosts[h].Trouble != "" && !w.hosts[h].Installed }

// findSpare finds the places of standby hosts that may stay empty. At the first claim, there are
// none. Once the active nodes of the set are held, or any node of the cluster was installed,
// missing standby hosts are reported and are not a failure. All installed hosts may be lost by
// then, but request.Installed still lists them.
func (w *work) findSpare() {
	installed := len(w.request.Installed) > 0 || slices.ContainsFunc(w.hosts, func(h *hosts.Host) bool { return w.me.Holds(*h) && h.Installed })
	for i, c := range w.classes {
		if c.set != nil && (installed || c.set.Active > 0 && len(w.activesOf(i)) >= c.set.Active) {
			c.spare = min(c.set.Standby, c.places)
		}
	}
}
