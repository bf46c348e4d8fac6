package ansible

import (
	"fmt"
	"slices"
	"time"
)

// Findings collects from the events how a playbook ended and why. The zero value is ready to use.
//
// In the events, an ignored or rescued failure looks like a real one. Findings therefore keeps the
// last failure of each host, and the statistics at the end decide which failures were real.
type Findings struct {
	last        map[string]Failure
	count       int
	stats       map[string]HostStats
	first, late time.Time
}

// Failure is a task that failed on a host.
type Failure struct {
	Host        string
	Task        string
	Message     string
	Unreachable bool
	Trouble     Trouble
	Others      int // number of other hosts that also failed permanently
	order       int
}

// See records an event.
func (f *Findings) See(e Event) {
	if !e.At.IsZero() {
		if f.first.IsZero() {
			f.first = e.At
		}
		f.late = e.At
	}
	switch e.Kind {
	case Failed, Unreachable:
		if f.last == nil {
			f.last = map[string]Failure{}
		}
		f.count++
		f.last[e.Host] = Failure{Host: e.Host, Task: e.Task, Message: e.Message, Unreachable: e.Kind == Unreachable, Trouble: e.Trouble, order: f.count}
	case Stats:
		f.stats = e.Stats
	}
}

// Ended reports whether the playbook reached its end, at which it prints the statistics of all
// hosts.
func (f *Findings) Ended() bool { return f.stats != nil }

// Cause returns the failure to report: the first failure of the hosts that failed permanently,
// since later failures are often its consequence. It returns false if no host failed permanently.
func (f *Findings) Cause() (Failure, bool) {
	var bad []Failure
	for host, stats := range f.stats {
		if !stats.Bad() {
			continue
		}
		failure, seen := f.last[host]
		if !seen {
			failure = Failure{Host: host, Message: "failed without a message", Unreachable: stats.Unreachable > 0, order: f.count + 1}
		}
		bad = append(bad, failure)
	}
	if len(bad) == 0 {
		return Failure{}, false
	}
	cause := slices.MinFunc(bad, func(a, b Failure) int { return a.order - b.order })
	cause.Others = len(bad) - 1
	return cause, true
}

// Recap summarizes the statistics and the duration of the playbook in one line.
func (f *Findings) Recap() string {
	var sum HostStats
	for host, s := range f.stats {
		if host == "localhost" {
			continue
		}
		sum.OK += s.OK
		sum.Changed += s.Changed
		sum.Failures += s.Failures
		sum.Unreachable += s.Unreachable
	}
	hosts := len(f.stats)
	if _, local := f.stats["localhost"]; local {
		hosts--
	}
	nodes := "nodes"
	if hosts == 1 {
		nodes = "node"
	}
	return fmt.Sprintf("%d %s: ok=%d changed=%d failed=%d unreachable=%d in %s",
		hosts, nodes, sum.OK, sum.Changed, sum.Failures, sum.Unreachable, f.late.Sub(f.first).Round(time.Second))
}
