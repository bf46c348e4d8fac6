package assign

import "sort"

// solve finds the best matching. If the full demand cannot be met, it is relaxed: first the spreads
// of soft sets, then the places of standby hosts that may stay empty. No held host is dropped to
// improve a soft spread. If several sets have a soft spread, they are spread as evenly as possible
// one after the other, in the order of the spec. The result is therefore not always the most even
// one for all sets together. maxTightenMatchings limits the effort.
func (w *work) solve() (result, demand) {
	wanted := w.fullDemand()
	r := w.attempt(wanted)
	if r.matching != nil && (r.score.dropped == 0 || !w.anySoft()) {
		return r, wanted
	}
	full := wanted.copy()
	for b := range w.classes {
		w.loosen(&wanted, b)
	}
	if r = w.attempt(wanted); r.matching == nil {
		if r = w.dropSpare(&wanted); r.matching == nil {
			return r, wanted
		}
	}
	dropped := r.score.dropped
	keeps := func(try demand) bool {
		r := w.try(try, dropped)
		return r.matching != nil && r.score.dropped <= dropped
	}
	for _, b := range w.ranked() {
		if s := w.classes[b].spread(); s != nil && s.Soft {
			w.tighten(&wanted, wanted.limits[b].unlabelled, keeps, func(try *demand, n int) { try.limits[b].unlabelled = n })
			w.tighten(&wanted, len(w.hosts), keeps, func(try *demand, n int) { try.limits[b].skew = full.limits[b].skew + n })
		}
	}
	return w.attempt(wanted), wanted
}

// anySoft reports whether a set has a soft spread.
func (w *work) anySoft() bool {
	for _, c := range w.classes {
		if s := c.spread(); s != nil && s.Soft {
			return true
		}
	}
	return false
}

// loosen removes the spread limit of a class with a soft spread.
func (w *work) loosen(wanted *demand, class int) {
	if s := w.classes[class].spread(); s != nil && s.Soft {
		wanted.limits[class] = spreadLimit{skew: wanted.limits[class].skew + len(w.hosts), unlabelled: wanted.places[class]}
	}
}

// dropSpare changes the demand so that it can be met: it removes places that may stay empty, but as
// few of them as possible. It removes places without a held host first.
func (w *work) dropSpare(wanted *demand) result {
	full := wanted.copy()
	for i, c := range w.classes {
		wanted.places[i] -= c.spare
	}
	if r := w.attempt(*wanted); r.matching == nil {
		return r
	}
	held := make([]int, len(w.classes))
	for _, h := range w.movable {
		if current := w.currentClass[h]; current != none && w.hosts[h].Standby && w.fits.row(h).has(current) {
			held[current]++
		}
	}
	for i, c := range w.classes {
		keep := min(held[i], c.spare)
		w.tighten(wanted, keep, w.feasible, func(try *demand, less int) { try.places[i] = full.places[i] - c.spare + keep - less })
	}
	for i := range w.classes {
		w.tighten(wanted, full.places[i]-wanted.places[i], w.feasible, func(try *demand, less int) { try.places[i] = full.places[i] - less })
	}
	return w.attempt(*wanted)
}

// maxTightenMatchings limits how many matchings are computed to tighten a demand. At this limit,
// the demand stays as it is.
const maxTightenMatchings = 400

// tighten finds the smallest n, with 0 <= n <= most, so that wanted is good after change with this n,
// and makes this change. At maxTightenMatchings, n may be larger than necessary. The caller must
// know that wanted is good after change with n = most. The search is fast if n is small.
func (w *work) tighten(wanted *demand, most int, good func(demand) bool, change func(try *demand, n int)) {
	fits := func(n int) bool {
		try := wanted.copy()
		change(&try, n)
		return w.spent < maxTightenMatchings && good(try)
	}
	bad, end := -1, 0
	for end < most && !fits(end) {
		bad, end = end, min(2*end+1, most)
	}
	n := bad + 1 + sort.Search(end-bad-1, func(i int) bool { return fits(bad + 1 + i) })
	change(wanted, n)
}

func (w demand) copy() demand {
	return demand{append([]int(nil), w.places...), append([]spreadLimit(nil), w.limits...)}
}
