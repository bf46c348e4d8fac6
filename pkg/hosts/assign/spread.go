package assign

// patience bounds how many matchings are made for an explanation.
const patience = 100

// explainSpread tells of a wish that could be met if nothing had to be spread.
func (w *world) explainSpread(wanted wish, gaveUp bool) *NoFit {
	nobody := newMatching(w, make([]room, len(w.bins)))
	if gaveUp {
		nodes := make([]int, len(w.bins))
		for i, b := range w.bins {
			if b.domains != nil {
				nodes[i] = wanted.places[i]
			}
		}
		e := w.tell(nobody, nodes)
		e.GaveUp = true
		return e
	}
	w.spent = 0
	core := w.coreOf(wanted)
	e := w.tell(nobody, core.places)
	for _, b := range w.ranked() {
		if w.bins[b].domains != nil && core.even[b].skew > 0 && core.even[b] != w.openEven(core, b) && core.places[b] > 0 {
			e.Spread = append(e.Spread, w.uneven(b, core, wanted))
		}
	}
	return e
}

// openEven is no bound at all.
func (w *world) openEven(wanted wish, bin int) even {
	return even{skew: len(w.hosts) + len(w.bins[bin].settled) + 1, strays: len(w.hosts)}
}

// coreOf takes from a wish that cannot be met all that can be taken so that it still cannot: spreads, then nodes. It is smallest in that
// nothing more can be taken, unless patience ends before.
func (w *world) coreOf(wanted wish) wish {
	core := wanted.copy()
	for b := range w.bins {
		if w.bins[b].domains != nil {
			w.take(&core, func(try *wish) { try.even[b] = w.openEven(core, b) })
		}
	}
	w.take(&core, func(try *wish) {
		for b := range w.bins {
			if w.bins[b].domains == nil || try.even[b] == w.openEven(core, b) {
				try.places[b] = 0
			}
		}
	})
	for b := range w.bins {
		for step := core.places[b]; step > 0; step = min(step/2, core.places[b]) {
			for core.places[b] >= step && w.take(&core, func(try *wish) { try.places[b] -= step }) {
			}
		}
	}
	return core
}

// take changes a wish if it still cannot be met then.
func (w *world) take(core *wish, change func(try *wish)) bool {
	try := core.copy()
	change(&try)
	if w.spent > patience {
		return false
	}
	if r := w.try(try, len(w.hosts)); r.matching != nil || r.gaveUp {
		return false
	}
	*core = try
	return true
}
