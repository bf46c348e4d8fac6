package assign

// maxCoreTries limits the number of matchings that are computed for one explanation.
const maxCoreTries = 100

// explainSpread explains a demand that could be met if no set had to be spread.
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

// unlimited returns a spread limit that allows everything.
func (w *work) unlimited(wanted demand, class int) spreadLimit {
	return spreadLimit{skew: len(w.hosts) + len(w.classes[class].fixed) + 1, unlabelled: len(w.hosts)}
}

// coreOf reduces a demand that cannot be met to a minimal one that still cannot be met. It removes
// spreads first, then nodes. The result is minimal in the sense that nothing more can be removed,
// unless maxCoreTries ends the search early.
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

// reduce applies a change to the demand if the changed demand still cannot be met, and reports
// whether it did.
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
