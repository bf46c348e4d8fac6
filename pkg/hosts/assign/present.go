package assign

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// findHomes finds the present places of the hosts that we hold, and puts these in order: those first that have such a place, active before
// standby, then by number.
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
		return cmp.Or(cmp.Compare(w.boundTo(a), w.boundTo(b)), cmp.Compare(w.numberOf(a), w.numberOf(b)))
	})
}

// away is how little a held host is bound to its place.
func (w *work) boundTo(h int) int {
	switch {
	case w.currentClass[h] == none:
		return 2
	case w.hosts[h].Standby:
		return 1
	}
	return 0
}

// retire chooses, where a set shrinks, the active nodes that leave it, since a node that is or may be installed cannot become standby. Those with
// trouble go first, then those of the fullest domain, then those with the highest number.
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

// activesOf are the hosts that are held for the active nodes of a set and can keep their place.
func (w *work) activesOf(class int) []int {
	var actives []int
	for _, h := range w.movable {
		if host := w.hosts[h]; w.currentClass[h] == class && !host.Standby && (host.Installed || host.Unusable == "") {
			actives = append(actives, h)
		}
	}
	return actives
}

func (w *work) leavesFirst(h, other int, domainSize func(int) int) bool {
	trouble := func(h int) int { return count(w.hosts[h].Unusable != "" || w.hosts[h].Trouble != "") }
	return cmp.Or(
		cmp.Compare(trouble(h), trouble(other)), cmp.Compare(domainSize(h), domainSize(other)), cmp.Compare(w.numberOf(h), w.numberOf(other)), cmp.Compare(h, other),
	) > 0
}

// crowds tells of a host how many are in its domain.
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

// fixInstalled gives installed hosts their place for good: as long as its node is wanted, only the loss of a host throws a node out, not its
// trouble, nor that it no longer meets what is asked. A slot that is pinned elsewhere is another wish.
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

// yields reports whether a host that we hold is to make room for a free host that is well: it is powered off or being serviced, so that nobody
// can install a node on it, and no node is installed there yet.
func (w *work) replaceable(h int) bool { return w.hosts[h].Trouble != "" && !w.hosts[h].Installed }

// findSpare finds the places that may stay empty. A set asks for its standby hosts when it is claimed first; once its active nodes are held, or
// anything of the cluster was installed, the lack of standby hosts is a lack and no failure. The hosts of all nodes of the set may be gone by then:
// the request still knows.
func (w *work) findSpare() {
	installed := len(w.request.Installed) > 0 || slices.ContainsFunc(w.hosts, func(h *hosts.Host) bool { return w.me.Holds(*h) && h.Installed })
	for i, c := range w.classes {
		if c.set != nil && (installed || c.set.Active > 0 && len(w.activesOf(i)) >= c.set.Active) {
			c.spare = min(c.set.Standby, c.places)
		}
	}
}
