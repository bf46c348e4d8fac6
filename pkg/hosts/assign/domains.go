package assign

import "slices"

// domains are the values of a topology key that count for the spread of a bin: those of the hosts that it has settled, and of the hosts that
// it may have. Another bin's pinned host is none of these (see reservePinned), nor is a host that lacks something or that somebody else holds.
type domains struct {
	names  []string // sorted
	of     []int32  // per host: its domain; of those without the label: one more than there are
	supply []int    // per domain: hosts that may be taken
	fixed  []int    // per domain: hosts that are settled
}

// findDomains finds the domains of the bins that are to be spread.
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
