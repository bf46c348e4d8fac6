package assign

import (
	"maps"
	"slices"
)

// domains are the values of a topology key that count for the spread of a class. These are the
// values of the hosts that are fixed in the class, and of the hosts that fit it. A value that only
// other hosts have does not count. Examples of other hosts are those that lack a requirement, that
// another object holds, or that are reserved for a pinned slot (see reservePinned).
type domains struct {
	names  []string // sorted
	of     []int32  // per host: index of its domain; len(names) if the host is in no domain
	supply []int    // per domain: number of hosts that fit and are not fixed
	fixed  []int    // per domain: number of fixed hosts
}

// findDomains finds the domains of the classes that must be spread.
func (w *work) findDomains() {
	for i, c := range w.classes {
		if c.spread() != nil {
			c.domains = w.domainsOf(i, c.spread().TopologyKey)
		}
	}
}

func (w *work) domainsOf(class int, key string) *domains {
	d := &domains{of: make([]int32, len(w.hosts))}
	counts := func(h int) bool { return w.fixedIn[h] == class || w.fits.row(h).has(class) }
	index := map[string]int{}
	for h, host := range w.hosts {
		if name, labelled := host.Labels[key]; labelled && counts(h) {
			index[name] = 0
		}
	}
	d.names = slices.Sorted(maps.Keys(index))
	for i, name := range d.names {
		index[name] = i
	}
	d.supply, d.fixed = make([]int, len(d.names)), make([]int, len(d.names))
	for h, host := range w.hosts {
		name, labelled := host.Labels[key]
		if !labelled || !counts(h) {
			d.of[h] = int32(len(d.names))
			continue
		}
		i := index[name]
		d.of[h] = int32(i)
		if w.fixedIn[h] == class {
			d.fixed[i]++
		} else {
			d.supply[i]++
		}
	}
	return d
}
