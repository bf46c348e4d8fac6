package assign

// attempts bounds how many combinations of spreads are tried in one search.
const attempts = 64

// wish is what an attempt is to fill: how many places of each bin, and how evenly.
type wish struct {
	places []int
	even   []even // of the bins that are to be spread
}

// wishAll asks for all places and the spread in full.
func (w *world) wishAll() wish {
	all := wish{make([]int, len(w.bins)), make([]even, len(w.bins))}
	for i, b := range w.bins {
		all.places[i] = b.places
		if s := b.spread(); s != nil {
			all.even[i].skew = max(1, s.MaxSkew)
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
func (w *world) attempt(wanted wish) result { return w.try(wanted, none) }

// feasible finds out whether there is any matching that fills all places of a wish.
func (w *world) feasible(wanted wish) bool { return w.try(wanted, len(w.hosts)).matching != nil }

// try is an attempt that ends early with a matching in which at most so many of our hosts are moved.
func (w *world) try(wanted wish, moved int) result {
	leasts := make([][]int, len(w.bins))
	for i, b := range w.bins {
		leasts[i] = []int{0}
		if b.domains != nil && wanted.places[i] > 0 {
			leasts[i] = b.domains.leasts(wanted.places[i], wanted.even[i])
		}
		if len(leasts[i]) == 0 {
			return result{}
		}
	}
	best := result{}
	pick := make([]int, len(w.bins))
	for n := 0; ; n++ {
		if n == attempts {
			best.gaveUp = true
			return best
		}
		m := newMatching(w, w.roomsOf(wanted, leasts, pick))
		m.fill()
		w.spent++
		if m.left == 0 {
			if s := w.scoreOf(m); best.matching == nil || s.compare(best.score) < 0 {
				best.matching, best.score = m, s
			}
		}
		if !advance(pick, leasts) || best.matching != nil && best.score.moved <= moved {
			return best
		}
	}
}

func (w *world) roomsOf(wanted wish, leasts [][]int, pick []int) []room {
	rooms := make([]room, len(w.bins))
	for i, b := range w.bins {
		rooms[i] = openRoom(wanted.places[i])
		if b.domains != nil && wanted.places[i] > 0 {
			rooms[i] = b.domains.room(wanted.places[i], leasts[i][pick[i]], wanted.even[i])
		}
	}
	return rooms
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
