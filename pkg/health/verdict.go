package health

import (
	"fmt"
	"time"
)

const (
	// agree is how many looks in a row must disagree with a verdict before it changes.
	agree = 2
	// undecided is after how many looks without two equal ones in a row something counts as bad.
	undecided = 4
	// flaps is how many changes within flapTime make a node flap. It then counts as bad until it was
	// good for calm.
	flaps    = 4
	flapTime = 10 * time.Minute
	calm     = 5 * time.Minute
)

// verdict is a damped judgement: good, bad, or not judged yet.
type verdict struct {
	known, bad bool
	// text explains bad. It is that of the look which decided, and stays until the verdict changes,
	// so that a text that varies causes no reports.
	text  string
	since time.Time
	// kind tells kinds of bad apart; a change of the kind counts as a change of the verdict.
	kind NodeState

	looks   int         // all looks
	equal   int         // the last looks that saw the same, good or bad
	lastBad bool        // what they saw
	run     time.Time   // the first of them
	changes []time.Time // of the verdict, the recent ones
	flaps   bool
	resumed bool // the next verdict goes on with the time of this one, if it is the same
}

// add adds what one look saw. An empty text means good. sure means that this look alone decides. It
// reports whether the verdict has changed.
func (v *verdict) add(kind NodeState, text string, sure bool, now time.Time) (changed bool) {
	bad := text != ""
	if v.looks == 0 || bad != v.lastBad {
		v.run, v.equal = now, 0
	}
	v.lastBad = bad
	v.looks, v.equal = v.looks+1, v.equal+1
	decided := sure || v.equal >= agree
	switch {
	case !v.known && decided:
		v.decide(bad, kind, text)
	case !v.known && v.looks >= undecided:
		v.decide(true, NodeNotReady, "its state changes with every look")
	case !v.known:
		return false
	case v.flaps:
		return v.settle(now)
	case decided && (bad != v.bad || bad && kind != v.kind):
		v.decide(bad, kind, text)
		v.note(now)
	default:
		return false
	}
	return true
}

// doubt makes the next looks judge anew. Earlier changes still count.
func (v *verdict) doubt() { v.known, v.looks, v.equal = v.flaps, 0, 0 }

// resume is like doubt after a pause in which nobody has looked. A verdict that stays the same has not begun
// anew: the time since which a node is Ready must not pass that of a run which has failed on it.
func (v *verdict) resume() {
	v.doubt()
	v.resumed = !v.since.IsZero()
}

func (v *verdict) decide(bad bool, kind NodeState, text string) {
	if !v.resumed || bad != v.bad || kind != v.kind {
		v.since = v.run
	}
	v.known, v.bad, v.kind, v.text, v.resumed = true, bad, kind, text, false
}

// note counts a change of the verdict, and notices that it flaps.
func (v *verdict) note(now time.Time) {
	recent := v.changes[:0]
	for _, at := range v.changes {
		if now.Sub(at) < flapTime {
			recent = append(recent, at)
		}
	}
	if v.changes = append(recent, now); len(v.changes) > flaps {
		v.flaps, v.bad, v.kind = true, true, NodeNotReady
		v.text = fmt.Sprintf("flapping: its state changed %d times in %d minutes", len(v.changes), int(flapTime.Minutes()))
	}
}

// settle ends the flapping when everything was good for a while.
func (v *verdict) settle(now time.Time) bool {
	if v.lastBad || now.Sub(v.run) < calm {
		return false
	}
	v.flaps, v.changes = false, nil
	v.decide(false, NodeReady, "")
	return true
}
