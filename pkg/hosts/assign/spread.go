package assign

// maxCoreTries limits the number of matchings that are computed to explain one failure.
const maxCoreTries = 100

// explainSpread explains why a demand cannot be met. Without the spreads, it could be met.
func (w *work) explainSpread(wanted demand, gaveUp bool) *NoFit {
	empty := newMatching(w, make([]capacity, len(w.classes)))
	if gaveUp {
		nodes := make([]int, len(w.classes))
		for i, c := range w.classes {
			if c.domains != nil {
				nodes[i] = wanted.places[i]
			}
		}
		e := w.noFit(empty, nodes)
		e.GaveUp = true
		return e
	}
	w.spent = 0
	core := w.coreOf(wanted)
	e := w.noFit(empty, core.places)
	for _, b := range w.ranked() {
		if w.classes[b].domains != nil && core.limits[b].skew > 0 && core.limits[b] != w.unlimited(core, b) && core.places[b] > 0 {
			e.Spread = append(e.Spread, w.uneven(b, core, wanted))
		}
	}
	return e
}

// unlimited returns a spread limit that never has an effect.
func (w *work) unlimited(wanted demand, class int) spreadLimit {
	return spreadLimit{skew: len(w.hosts) + len(w.classes[class].fixed) + 1, unlabelled: len(w.hosts)}
}

// coreOf removes parts from a demand that cannot be met, as long as the rest cannot be met either.
// It removes spreads first, then nodes. If any one further part were removed from the result, the
// rest could be met. If maxCoreTries ends the search early, parts may be left that could still be
// removed.
func (w *work) coreOf(wanted demand) demand {
	core := wanted.copy()
	for b := range w.classes {
		if w.classes[b].domains != nil {
			w.reduce(&core, func(try *demand) { try.limits[b] = w.unlimited(core, b) })
		}
	}
	w.reduce(&core, func(try *demand) {
		for b := range w.classes {
			if w.classes[b].domains == nil || try.limits[b] == w.unlimited(core, b) {
				try.places[b] = 0
			}
		}
	})
	for b := range w.classes {
		for step := core.places[b]; step > 0; step = min(step/2, core.places[b]) {
			for core.places[b] >= step && w.reduce(&core, func(try *demand) { try.places[b] -= step }) {
			}
		}
	}
	return core
}

// reduce applies a change to the demand if the changed demand cannot be met either. It reports
// whether it applied the change.
func (w *work) reduce(core *demand, change func(try *demand)) bool {
	try := core.copy()
	change(&try)
	if w.spent > maxCoreTries {
		return false
	}
	if r := w.try(try, len(w.hosts)); r.matching != nil || r.gaveUp {
		return false
	}
	*core = try
	return true
}
