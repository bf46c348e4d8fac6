package assign

// attempts bounds how many combinations of spreads are tried in one search.
const maxCombinations = 64

// demand is what an attempt is to fill: how many places of each bin, and how evenly.
type demand struct {
	places []int
	limits []spreadLimit // of the bins that are to be spread
}

// fullDemand asks for all places and the spread in full.
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

// result is the best matching that an attempt found.
type result struct {
	*matching
	score score
	// gaveUp: there were more combinations than attempts, so a better one may exist, or one at all.
	gaveUp bool
}

// attempt looks for the best matching that fills all places of a wish; there is none if the result has no matching. How many hosts
// the emptiest domain of each spread set has is not known beforehand: every possible combination is tried, up to the bound.
func (w *work) attempt(wanted demand) result { return w.try(wanted, none) }

// feasible finds out whether there is any matching that fills all places of a wish.
func (w *work) feasible(wanted demand) bool { return w.try(wanted, len(w.hosts)).matching != nil }

// try is an attempt that ends early with a matching in which at most so many of our hosts are moved.
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

// advance counts to the next combination; it reports false after the last.
func advance(pick []int, of [][]int) bool {
	for i := range pick {
		if pick[i]++; pick[i] < len(of[i]) {
			return true
		}
		pick[i] = 0
	}
	return false
}
