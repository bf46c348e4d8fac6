package assign

// maxCombinations limits how many combinations one search tries. A combination has one of the
// values of domains.minimums for each class with a spread.
const maxCombinations = 64

// demand describes the places that a search must fill: their number in each class, and the limit of
// the class's spread.
type demand struct {
	places []int
	limits []spreadLimit // only for classes with a spread
}

// fullDemand returns the demand for all places, with the spreads of the request.
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
	// gaveUp reports that the search ended because there are more than maxCombinations
	// combinations. There may then be a better matching, or a matching even if none was found.
	gaveUp bool
}

// attempt searches for the best matching that fills all places of a demand. If there is none, the
// matching in the result is nil. How many hosts the emptiest domain of each class gets is not known
// beforehand. Therefore, all combinations of these numbers are tried, up to maxCombinations.
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

// capacitiesOf returns the capacity of each class. For class i, it uses the value at index pick[i]
// of minimums[i].
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

// advance changes pick to the next combination. It returns false if there are no more combinations.
func advance(pick []int, of [][]int) bool {
	for i := range pick {
		if pick[i]++; pick[i] < len(of[i]) {
			return true
		}
		pick[i] = 0
	}
	return false
}
