package assign

// capacity limits how many hosts of each domain one matching may place in a class. A class without
// a spread has a single domain, 0.
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

// spreadLimit limits how uneven the spread of a class may be.
type spreadLimit struct {
	skew       int // maximum difference between the fullest and the emptiest domain, in hosts
	unlabelled int // maximum number of hosts without a domain
}

// capacity limits each domain to between minimum and minimum+skew hosts, including the fixed ones.
// A domain that already has more fixed hosts gets no new ones, and its excess does not affect the
// other domains.
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

// minimums lists the values to try for the number of hosts in the emptiest domain. Every
// sufficiently even spread of that many places satisfies one of them.
func (d *domains) minimums(places int, e spreadLimit) []int {
	var found []int
	for minimum := d.lowestMinimum(places, e); minimum <= d.smallestDomain(); minimum++ {
		r := d.capacity(places, minimum, e)
		if r.shared < 0 || r.shared == 0 && len(found) > 0 { // allows no more than the previous value
			break
		}
		found = append(found, minimum)
		if d.takesAll(r) {
			break
		}
	}
	return found
}

// takesAll reports whether no upper limit of a domain has an effect.
func (d *domains) takesAll(r capacity) bool {
	for i, supply := range d.supply {
		if r.high[i] < min(supply, r.low[i]+r.shared) {
			return false
		}
	}
	return true
}

// lowestMinimum returns the lowest number of hosts in the emptiest domain that leaves capacity for
// all places.
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
