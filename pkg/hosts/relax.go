package hosts

import "sort"

// solve finds the best matching. Where it cannot be had in full, what is asked for softly gives way: first how evenly a soft set is spread, then
// the spare standby hosts.
func (w *world) solve() (result, wish) {
	wanted := w.wishAll()
	if r := w.attempt(wanted); r.matching != nil {
		return r, wanted
	}
	full := w.wishAll()
	for i, b := range w.bins {
		w.loosen(&wanted, i)
		wanted.places[i] -= b.spare
	}
	r := w.attempt(wanted)
	if r.matching == nil {
		return r, wanted
	}
	for i, b := range w.bins {
		w.tighten(&wanted, b.spare, func(try *wish, less int) { try.places[i] = full.places[i] - less })
	}
	for i, b := range w.bins {
		if s := b.spread(); s != nil && s.Soft {
			w.tighten(&wanted, wanted.places[i], func(try *wish, n int) { try.even[i].strays = n })
			w.tighten(&wanted, len(w.hosts), func(try *wish, n int) { try.even[i].skew = full.even[i].skew + n })
		}
	}
	return w.attempt(wanted), wanted
}

// loosen drops the spread of a soft set.
func (w *world) loosen(wanted *wish, bin int) {
	if s := w.bins[bin].spread(); s != nil && s.Soft {
		wanted.even[bin] = even{skew: max(1, s.MaxSkew) + len(w.hosts), strays: wanted.places[bin]}
	}
}

// tighten sets the least number from 0 to most that still leaves a matching; most is known to leave one.
func (w *world) tighten(wanted *wish, most int, change func(try *wish, n int)) {
	n := sort.Search(most, func(n int) bool {
		try := wanted.copy()
		change(&try, n)
		return w.feasible(try)
	})
	change(wanted, n)
}

func (w wish) copy() wish {
	return wish{append([]int(nil), w.places...), append([]even(nil), w.even...)}
}
