package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/test/bench/results"
)

// installations are the times of the same installation in different ways.
type installations struct {
	run, playbook   time.Duration // through BPA, from apply to Ready; ansible-playbook inside of it
	hand, handAgain time.Duration // kubespray by hand; again, with nothing to do
	fast, fastAgain time.Duration // by hand with the accelerations of the run; again, with nothing to do
}

// Names of the ways, which are peers of each other.
const (
	theRun      = "install through BPA, from apply to Ready"
	thePlaybook = "playbook inside of this run"
	byHand      = "playbook by hand (baseline)"
	fastHand    = "playbook by hand with the same accelerations"
	again       = "second time, nothing to do: "
)

// figures returns the times, and the ratios of issue 17, each against its peer.
func (m installations) figures(table string) []results.Figure {
	seconds := func(name string, took time.Duration) results.Figure {
		return results.Figure{Table: table, Name: name, Value: took.Seconds(), Unit: "s"}
	}
	ratio := func(name, peer string, a, b time.Duration, goal float64) results.Figure {
		return results.Figure{Table: table, Name: name, Peer: peer, Value: a.Seconds() / b.Seconds(), Goal: goal}
	}
	return []results.Figure{
		ratio(theRun, byHand, m.run, m.hand, 0.5),
		ratio(thePlaybook, byHand, m.playbook, m.hand, 0.4),
		ratio(theRun, fastHand, m.run, m.fast, 1.05),
		ratio(fastHand, byHand, m.fast, m.hand, 0),
		ratio(again+fastHand, again+byHand, m.fastAgain, m.handAgain, 0),
		seconds(theRun, m.run), seconds(thePlaybook, m.playbook), seconds(byHand, m.hand), seconds(fastHand, m.fast),
		seconds(again+byHand, m.handAgain), seconds(again+fastHand, m.fastAgain),
	}
}

// between returns the time between two lines of a log with timestamps: the first one that begins with
// from, and the first one after it that begins with to.
func between(log, from, to string) (time.Duration, error) {
	var began time.Time
	for line := range strings.Lines(log) {
		stamp, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		wanted := from
		if !began.IsZero() {
			wanted = to
		}
		if !strings.HasPrefix(text, wanted) {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return 0, fmt.Errorf("the line %q has no timestamp: %w", line, err)
		}
		if !began.IsZero() {
			return at.Sub(began), nil
		}
		began = at
	}
	return 0, fmt.Errorf("no line begins with %q, followed by one that begins with %q", from, to)
}

func TestFigures(t *testing.T) {
	m := installations{run: 90 * time.Second, playbook: 60 * time.Second, hand: 200 * time.Second, handAgain: 100 * time.Second, fast: 75 * time.Second, fastAgain: 25 * time.Second}
	want := map[string]string{
		theRun + " : " + byHand:                   "0.45 (goal 0.50, met)",
		thePlaybook + " : " + byHand:              "0.30 (goal 0.40, met)",
		theRun + " : " + fastHand:                 "1.20 (goal 1.05, missed)",
		fastHand + " : " + byHand:                 "0.38",
		again + fastHand + " : " + again + byHand: "0.25",
		theRun: "90.0 s", thePlaybook: "60.0 s", byHand: "200.0 s", fastHand: "75.0 s",
		again + byHand: "100.0 s", again + fastHand: "25.0 s",
	}
	got := map[string]string{}
	for _, f := range m.figures("T") {
		name, value, _ := strings.Cut(strings.TrimPrefix(f.String(), "T: "), " = ")
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBetween(t *testing.T) {
	const log = `2026-11-23T01:00:00.5Z Waiting until nodes answer
2026-11-23T01:00:01.5Z
2026-11-23T01:00:02.5Z Running cluster.yml on 2 nodes
2026-11-23T01:01:00Z PLAY RECAP
2026-11-23T01:01:03.75Z Waiting until nodes and system pods are Ready
2026-11-23T01:01:09Z Waiting until nodes and system pods are Ready
`
	if got, err := between(log, "Running cluster.yml", "Waiting until"); err != nil || got != 61250*time.Millisecond {
		t.Errorf("%s, %v: want 1m1.25s", got, err)
	}
	for from, to := range map[string]string{"Running scale.yml": "Waiting", "PLAY RECAP": "Running"} {
		if got, err := between(log, from, to); err == nil {
			t.Errorf("from %q to %q: got %s, want an error", from, to, got)
		}
	}
}
