package assign

// capacity limits, for one matching, how many hosts of each domain get a place in a class. A class
// without a spread has only domain 0.
type capacity struct {
	of     []int32 // per host: its domain; nil: all hosts are in domain 0
	low    []int   // per domain: places reserved for it
	high   []int   // per domain: maximum number of places
	shared int     // places that any domain may use
}

// openCapacity is the capacity of a class without a spread.
func openCapacity(places int) capacity {
	return capacity{low: []int{places}, high: []int{places}}
}

func (r *capacity) domain(h int) int32 {
	if r.of == nil {
		return 0
	}
	return r.of[h]
}

// spreadLimit limits the differences between the domains of a class.
type spreadLimit struct {
	skew       int // maximum difference between the fullest and the emptiest domain, in hosts
	unlabelled int // maximum number of hosts without a domain
}

// capacity requires at least minimum and at most minimum+e.skew hosts in each domain. Fixed hosts
// count towards both limits. If a domain already has more fixed hosts than the upper limit, it gets
// no new ones, and the limits of the other domains stay the same.
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

// minimums lists, in ascending order, the values of method capacity's parameter minimum with which
// the given number of places may be filled. Every way to fill the places within the limit e is
// possible with at least one of these values.
func (d *domains) minimums(places int, e spreadLimit) []int {
	var found []int
	for minimum := d.lowestMinimum(places, e); minimum <= d.smallestDomain(); minimum++ {
		r := d.capacity(places, minimum, e)
		if r.shared < 0 || r.shared == 0 && len(found) > 0 { // a higher minimum allows no spread that the previous one does not allow
			break
		}
		found = append(found, minimum)
		if d.takesAll(r) {
			break
		}
	}
	return found
}

// takesAll reports whether the upper limits of r exclude no host. Each domain may then take all its
// hosts, or as many as there are places for them.
func (d *domains) takesAll(r capacity) bool {
	for i, supply := range d.supply {
		if r.high[i] < min(supply, r.low[i]+r.shared) {
			return false
		}
	}
	return true
}

// lowestMinimum returns the lowest value of method capacity's parameter minimum with which the
// upper limits of the domains add up to at least the number of places.
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
