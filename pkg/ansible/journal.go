package ansible

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Journal writes a readable log: one line per task with the number of hosts per result, failures
// with their message, notices about long tasks, and a recap. It omits tasks that every host skips.
type Journal struct {
	out   io.Writer
	meter *Meter
	start time.Time

	task    string // running task, in a play where all hosts run the same task; empty: none
	since   time.Time
	last    time.Time // time of the newest result of the running task
	count   tally
	pending map[string]freeTask // running tasks in a play where each host proceeds independently
	noticed time.Duration       // run time of the running task in the last notice
	notes   []string            // of the running task
}

type tally struct{ ok, changed, skipped, failed, unreachable, attempts int }

type freeTask struct {
	name  string
	since time.Time
	hosts int
}

// NewJournal returns a Journal that writes to out. The Journal reads the progress from the meter
// and does not pass events on to it. The caller must therefore call the meter's See before the
// Journal's See.
func NewJournal(out io.Writer, meter *Meter) *Journal {
	return &Journal{out: out, meter: meter, pending: map[string]freeTask{}}
}

// See writes the log lines for an event.
func (j *Journal) See(e Event) {
	if j.start.IsZero() {
		j.start = e.At
	}
	switch e.Kind {
	case PlayStart:
		j.endTask()
		clear(j.pending)
		fmt.Fprintf(j.out, "\nPLAY [%s]\n", e.Play)
	case TaskStart, HandlerStart:
		j.endTask()
		j.task, j.since, j.last = e.Task, e.At, e.At
	case HostStart:
		j.endTask()
		free := j.pending[e.TaskID]
		if free.hosts == 0 {
			free = freeTask{name: e.Task, since: e.At}
		}
		free.hosts++
		j.pending[e.TaskID] = free
	case OK, Skipped, Failed, Unreachable:
		j.result(e)
	case Stats:
		j.endTask()
		j.recap(e.Stats)
	case Text:
		if strings.TrimSpace(e.Message) != "" {
			fmt.Fprintf(j.out, "      %s\n", e.Message)
		}
	}
}

func (j *Journal) result(e Event) {
	free, own := j.pending[e.TaskID]
	if !own {
		j.count.add(e)
		j.last = e.At
		j.note(e)
		return
	}
	if free.hosts--; free.hosts == 0 {
		delete(j.pending, e.TaskID)
	} else {
		j.pending[e.TaskID] = free
	}
	var one tally
	one.add(e)
	j.note(e)
	j.line(e.Task+" ["+e.Host+"]", one, e.At, e.At.Sub(free.since))
}

// note keeps the text of a failure, which is written after the line of its task. If a task fails on
// many hosts, note keeps only the first few texts.
func (j *Journal) note(e Event) {
	const enough = 5
	if e.Kind != Failed && e.Kind != Unreachable {
		return
	}
	switch len(j.notes) {
	case enough:
		j.notes = append(j.notes, "... and on more hosts")
	case enough + 1:
	default:
		j.notes = append(j.notes, e.Host+": "+indent(e.Message, "          "))
	}
}

func (t *tally) add(e Event) {
	switch {
	case e.Kind == Failed:
		t.failed++
	case e.Kind == Unreachable:
		t.unreachable++
	case e.Kind == Skipped:
		t.skipped++
	case e.Changed:
		t.changed++
	default:
		t.ok++
	}
	t.attempts = max(t.attempts, e.Attempts)
}

func (j *Journal) endTask() {
	if j.task == "" {
		return
	}
	j.line(j.task, j.count, j.last, j.last.Sub(j.since))
	j.task, j.count, j.noticed = "", tally{}, 0
}

// slow is the minimum run time of a task for which the line in the log shows the run time.
const slow = 5 * time.Second

func (j *Journal) line(task string, count tally, at time.Time, took time.Duration) {
	var said []string
	for _, part := range []struct {
		n    int
		what string
	}{{count.ok, "ok"}, {count.changed, "changed"}, {count.failed, "failed"}, {count.unreachable, "unreachable"}} {
		if part.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(said) == 0 {
		return
	}
	if count.skipped > 0 {
		said = append(said, fmt.Sprintf("%d skipped", count.skipped))
	}
	if count.attempts > 1 {
		said = append(said, fmt.Sprintf("%d attempts", count.attempts))
	}
	if took >= slow {
		said = append(said, "took "+clock(took))
	}
	fmt.Fprintf(j.out, "%s  %s: %s\n", j.stamp(at), task, strings.Join(said, ", "))
	for _, note := range j.notes {
		fmt.Fprintf(j.out, "      %s\n", note)
	}
	j.notes = nil
}

// Tick writes a notice from time to time while a long task runs. The caller calls it about every
// second.
func (j *Journal) Tick(now time.Time) {
	name, since := j.task, j.since
	if name == "" {
		for _, free := range j.pending {
			if name == "" || free.since.Before(since) {
				name, since = free.name, free.since
			}
		}
	}
	runs := now.Sub(since)
	if name == "" || runs < nextNotice(j.noticed) {
		if runs < j.noticed {
			j.noticed = 0 // another task is running now
		}
		return
	}
	j.noticed = runs
	fmt.Fprintf(j.out, "%s  %s: still running after %s\n", j.stamp(now), name, clock(runs))
}

// nextNotice returns the run time of the notice after the given one: 15 s, 30 s, then every minute.
func nextNotice(last time.Duration) time.Duration {
	switch {
	case last < 15*time.Second:
		return 15 * time.Second
	case last < 30*time.Second:
		return 30 * time.Second
	}
	return last.Truncate(time.Minute) + time.Minute
}

func (j *Journal) recap(stats map[string]HostStats) {
	hosts := make([]string, 0, len(stats))
	width := len("RECAP")
	for host := range stats {
		hosts = append(hosts, host)
		width = max(width, len(host))
	}
	slices.Sort(hosts)
	fmt.Fprintf(j.out, "\n%-*s  %6s %7s %6s %11s %7s %7s %7s\n", width, "RECAP", "ok", "changed", "failed", "unreachable", "skipped", "rescued", "ignored")
	for _, host := range hosts {
		s := stats[host]
		fmt.Fprintf(j.out, "%-*s  %6d %7d %6d %11d %7d %7d %7d\n", width, host, s.OK, s.Changed, s.Failures, s.Unreachable, s.Skipped, s.Rescued, s.Ignored)
	}
}

func (j *Journal) stamp(at time.Time) string {
	return fmt.Sprintf("%3d%% %7s", j.meter.Percent(), clock(at.Sub(j.start)))
}

func clock(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

func indent(text, by string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by)
}
