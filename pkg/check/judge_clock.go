package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// bounds returns the smallest and the largest difference, in seconds, that the clock of a host can have to this machine's. The
// host read its clock first after a.Asked and last before a.Answered, so the time of the way cannot be mistaken for a difference.
func (a Answer) bounds() (low, high float64) {
	first := a.Facts.Begin
	if a.Facts.Whole {
		first++
	}
	low, high = a.Facts.End-seconds(a.Answered), first-seconds(a.Asked)
	return min(low, high), max(low, high) // a clock that was set meanwhile
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

const (
	mostClock = 5.0
	mostDrift = 0.5
)

// away returns by how much a clock differs at least: negative if it is behind.
func away(low, high float64) float64 {
	switch {
	case low > 0:
		return low
	case high < 0:
		return high
	}
	return 0
}

// clocks finds hosts with a wrong clock, or this machine, if its clock differs from all others, which agree.
func clocks(w *world) {
	type offset struct {
		node      string
		low, high float64
	}
	var all, off []offset
	for i, n := range w.in.Nodes {
		if w.answers[i].Err != nil {
			continue
		}
		low, high := w.answers[i].bounds()
		all = append(all, offset{n.Name, low, high})
		if math.Abs(away(low, high)) > mostClock {
			off = append(off, all[len(all)-1])
		}
	}
	if len(all) > 1 && len(off) == len(all) {
		lowest := slices.MinFunc(all, func(a, b offset) int { return cmp.Compare(a.high, b.high) })
		highest := slices.MaxFunc(all, func(a, b offset) int { return cmp.Compare(a.low, b.low) })
		if highest.low-lowest.high <= mostClock {
			w.say(Failed, "", fmt.Sprintf("the clock of %s is %s all hosts', which agree", w.here(), direction(-away(lowest.low, lowest.high))))
			return
		}
	}
	for _, o := range off {
		w.say(Failed, o.node, "its clock is "+direction(away(o.low, o.high))+" "+w.here()+"'s")
	}
}

// here names the machine that asks. A reader of the message of a run is not on it.
func (w *world) here() string {
	if w.in.Run {
		return "the bootstrap machine"
	}
	return "this machine"
}

func clockDrifts(w *world) {
	for i, n := range w.in.Nodes {
		if w.answers[i].Err != nil {
			continue
		}
		if d := away(w.answers[i].bounds()); math.Abs(d) > mostDrift && math.Abs(d) <= mostClock {
			w.say(Failed, n.Name, "its clock is "+direction(d)+" "+w.here()+"'s")
		}
	}
}

// direction describes a difference of clocks, such as "3.2s ahead of".
func direction(d float64) string {
	by := time.Duration(math.Abs(d) * float64(time.Second)).Round(10 * time.Millisecond)
	if d < 0 {
		return "at least " + by.String() + " behind"
	}
	return "at least " + by.String() + " ahead of"
}

// sources are the programs that set a clock.
var sources = []string{"chronyd", "ntpd", "openntpd", "systemd-timesyn", "ptp4l", "phc2sys"}

func timeSources(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		i := slices.IndexFunc(sources, func(name string) bool { return slices.Contains(f.Processes, name) })
		switch {
		case f.Synchronized == "yes":
		case f.Synchronized == "no" && i >= 0:
			fail(fmt.Sprintf("%s runs, and the clock is not synchronized", sources[i]))
		case i < 0:
			fail("no program sets its clock")
		}
	})
}
