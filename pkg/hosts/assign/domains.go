package assign

import "slices"

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
	var members []int
	for h, host := range w.hosts {
		name, labelled := host.Labels[key]
		if labelled && (w.fixedIn[h] == class || w.fits.row(h).has(class)) {
			members, d.names = append(members, h), append(d.names, name)
		}
	}
	slices.Sort(d.names)
	d.names = slices.Compact(d.names)
	for h := range d.of {
		d.of[h] = int32(len(d.names))
	}
	d.supply, d.fixed = make([]int, len(d.names)), make([]int, len(d.names))
	for _, h := range members {
		i, _ := slices.BinarySearch(d.names, w.hosts[h].Labels[key])
		d.of[h] = int32(i)
		if w.fixedIn[h] == class {
			d.fixed[i]++
		} else {
			d.supply[i]++
		}
	}
	return d
}
