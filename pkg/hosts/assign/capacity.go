package assign

// capacity is what a bin offers in one attempt: how many hosts of which domain. A bin that is not to be spread has one domain, 0, for all.
type capacity struct {
	of   []int32 // per host: its domain; nil: all in 0
	low  []int   // per domain: places that are kept for it
	high []int   // per domain: places that it may have
	flex int     // places that are kept for no domain
}

func openCapacity(places int) capacity {
	return capacity{low: []int{places}, high: []int{places}}
}

func (r *capacity) domain(h int) int32 {
	if r.of == nil {
		return 0
	}
	return r.of[h]
}

// even says how evenly a bin is to be spread.
type even struct {
	skew   int // by how many hosts the fullest domain may exceed the emptiest
	strays int // how many hosts may have no domain
}

// capacity bounds the domains to at least least and at most least+skew hosts, the settled ones counted. A domain that has more already gets
// none, and that it has more counts against nobody.
func (d *domains) capacity(places, least int, e even) capacity {
	r := capacity{of: d.of, flex: places}
	for _, had := range d.had {
		low := max(0, least-had)
		r.low, r.high = append(r.low, low), append(r.high, max(0, least+e.skew-had))
		r.flex -= low
	}
	r.low, r.high = append(r.low, 0), append(r.high, e.strays)
	return r
}

// leasts are the numbers of hosts that the emptiest domain can have: those that need trying so that every spread of so many places that is
// even enough is among them.
func (d *domains) leasts(places int, e even) []int {
	var found []int
	for least := d.lowest(places, e); least <= d.poorest(); least++ {
		r := d.capacity(places, least, e)
		if r.flex < 0 || r.flex == 0 && len(found) > 0 { // nothing that the last one does not allow
			break
		}
		found = append(found, least)
		if d.takesAll(r) {
			break
		}
	}
	return found
}

// takesAll reports whether no upper bound of a room matters.
func (d *domains) takesAll(r capacity) bool {
	for i, supply := range d.supply {
		if r.high[i] < min(supply, r.low[i]+r.flex) {
			return false
		}
	}
	return true
}

// lowest is the lowest number for the emptiest domain that leaves room for all places.
func (d *domains) lowest(places int, e even) int {
	for least := 0; ; least++ {
		capacity := e.strays
		for _, had := range d.had {
			capacity += max(0, least+e.skew-had)
		}
		if capacity >= places || least > places {
			return least
		}
	}
}
