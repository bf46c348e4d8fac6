package assign

// maxCombinations limits how many combinations of spreads one search tries.
const maxCombinations = 64

// demand is what a search must fill: the number of places of each class, and its spread limit.
type demand struct {
	places []int
	limits []spreadLimit // only for classes with a spread
}

// fullDemand asks for all places and for the spreads as requested.
func (w *work) fullDemand() demand {
	all := demand{make([]int, len(w.classes)), make([]spreadLimit, len(w.classes))}
	for i, c := range w.classes {
		all.places[i] = c.places
		if s := c.spread(); s != nil {
			all.limits[i].skew = max(1, s.MaxSkew)
		}
	}
	return all
}

// result is the best matching that a search found.
type result struct {
	*matching
	score score
	// gaveUp reports that there were more than maxCombinations combinations. A better matching may
	// then exist, or a first one.
	gaveUp bool
}

// attempt searches for the best matching that fills all places of a demand. The result has no
// matching if none exists. The number of hosts in the emptiest domain of each spread class is not
// known beforehand, so every combination is tried, up to maxCombinations.
func (w *work) attempt(wanted demand) result { return w.try(wanted, none) }

// feasible reports whether any matching fills all places of a demand.
func (w *work) feasible(wanted demand) bool { return w.try(wanted, len(w.hosts)).matching != nil }

// try is like attempt, but it stops at the first matching that drops at most maxDropped of the
// preferred held hosts.
func (w *work) try(wanted demand, maxDropped int) result {
	minimums := make([][]int, len(w.classes))
	for i, c := range w.classes {
		minimums[i] = []int{0}
		if c.domains != nil && wanted.places[i] > 0 {
			minimums[i] = c.domains.minimums(wanted.places[i], wanted.limits[i])
		}
		if len(minimums[i]) == 0 {
			return result{}
		}
	}
	best := result{}
	pick := make([]int, len(w.classes))
	for n := 0; ; n++ {
		if n == maxCombinations {
			best.gaveUp = true
			return best
		}
		m := newMatching(w, w.capacitiesOf(wanted, minimums, pick))
		m.fill()
		w.spent++
		if m.unfilled == 0 {
			if s := w.scoreOf(m); best.matching == nil || s.compare(best.score) < 0 {
				best.matching, best.score = m, s
			}
		}
		if !advance(pick, minimums) || best.matching != nil && best.score.dropped <= maxDropped {
			return best
		}
	}
}

// capacitiesOf returns the capacity of each class for the picked combination of minimums.
func (w *work) capacitiesOf(wanted demand, minimums [][]int, pick []int) []capacity {
	capacities := make([]capacity, len(w.classes))
	for i, c := range w.classes {
		capacities[i] = openCapacity(wanted.places[i])
		if c.domains != nil && wanted.places[i] > 0 {
			capacities[i] = c.domains.capacity(wanted.places[i], minimums[i][pick[i]], wanted.limits[i])
		}
	}
	return capacities
}

// advance moves pick to the next combination. It returns false after the last one.
func advance(pick []int, of [][]int) bool {
	for i := range pick {
		if pick[i]++; pick[i] < len(of[i]) {
			return true
		}
		pick[i] = 0
	}
	return false
}
