package assign

// capacity is what a bin offers in one attempt: how many hosts of which domain. A bin that is not to be spread has one domain, 0, for all.
type capacity struct {
	of     []int32 // per host: its domain; nil: all in 0
	low    []int   // per domain: places that are kept for it
	high   []int   // per domain: places that it may have
	shared int     // places that are kept for no domain
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
type spreadLimit struct {
	skew       int // by how many hosts the fullest domain may exceed the emptiest
	unlabelled int // how many hosts may have no domain
}

// capacity bounds the domains to at least least and at most least+skew hosts, the settled ones counted. A domain that has more already gets
// none, and that it has more counts against nobody.
func (d *domains) capacity(places, minimum int, e spreadLimit) capacity {
	r := capacity{of: d.of, shared: places}
	for _, fixed := range d.fixed {
		low := max(0, minimum-fixed)
		r.low, r.high = append(r.low, low), append(r.high, max(0, minimum+e.skew-fixed))
		r.shared -= low
	}
	r.low, r.high = append(r.low, 0), append(r.high, e.unlabelled)
	return r
}

// leasts are the numbers of hosts that the emptiest domain can have: those that need trying so that every spread of so many places that is
// even enough is among them.
func (d *domains) minimums(places int, e spreadLimit) []int {
	var found []int
	for minimum := d.lowestMinimum(places, e); minimum <= d.smallestDomain(); minimum++ {
		r := d.capacity(places, minimum, e)
		if r.shared < 0 || r.shared == 0 && len(found) > 0 { // nothing that the last one does not allow
			break
		}
		found = append(found, minimum)
		if d.takesAll(r) {
			break
		}
	}
	return found
}

// takesAll reports whether no upper bound of a room matters.
func (d *domains) takesAll(r capacity) bool {
	for i, supply := range d.supply {
		if r.high[i] < min(supply, r.low[i]+r.shared) {
			return false
		}
	}
	return true
}

// lowest is the lowest number for the emptiest domain that leaves room for all places.
func (d *domains) lowestMinimum(places int, e spreadLimit) int {
	for minimum := 0; ; minimum++ {
		capacity := e.unlabelled
		for _, fixed := range d.fixed {
			capacity += max(0, minimum+e.skew-fixed)
		}
		if capacity >= places || minimum > places {
			return minimum
		}
	}
}
