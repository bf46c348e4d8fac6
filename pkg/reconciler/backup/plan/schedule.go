package plan

import (
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Scheduled is a Backup that the schedule of the same Provisioning has created.
type Scheduled struct {
	Name string
	At   time.Time // of the schedule
	// Succeeded and Failed are false while it waits or runs. Deleting reports that it is being deleted.
	Succeeded, Failed, Deleting bool
}

// Timetable is the state of the schedule of one Provisioning.
type Timetable struct {
	// Policy is spec.backup; nil: there is none.
	Policy *v1alpha1.BackupPolicy
	// MinAge is how long the copy of a Backup stays in any case; 0: no time. A deletion before would only wait.
	MinAge time.Duration
	// Installed reports that the cluster was installed, and Leaving that the Provisioning is being
	// deleted.
	Installed, Leaving bool
	// Mark is the last time of the schedule for which a Backup was created, or the time at which the
	// controller first saw the schedule; zero: it has not seen it yet.
	Mark time.Time
	// Backups are those that the schedule has created.
	Backups []Scheduled
}

// Due is what the schedule requests now.
type Due struct {
	// Create is the time for which a Backup is to be created; zero: none.
	Create time.Time
	// Mark is the new mark; zero: it does not change.
	Mark time.Time
	// Delete are the names of the Backups that are to be deleted.
	Delete []string
	// After is when to look again, if nothing changes before; zero: not at all.
	After time.Duration
}

// At returns what is to be done now. If several times were missed, only the last one is made up for.
// While a scheduled Backup waits or runs, no other one is created.
func (t Timetable) At(now time.Time) Due {
	if t.Policy == nil || t.Leaving || !t.Installed {
		return Due{}
	}
	due := Due{}
	due.Delete, due.After = t.surplus(now)
	schedule, err := v1alpha1.ParseSchedule(t.Policy.Schedule)
	if err != nil || t.Policy.Paused { // the webhook refuses a schedule that cannot be parsed
		return due
	}
	mark := t.Mark
	if mark.IsZero() || mark.After(now.Add(day)) { // the clock was wrong when the mark was set
		mark = now.UTC().Truncate(time.Second)
		due.Mark = mark
	}
	if last, ok := schedule.Last(mark, now); ok {
		if slices.ContainsFunc(t.Backups, func(b Scheduled) bool { return !b.Succeeded && !b.Failed && !b.Deleting && !b.At.Equal(last) }) {
			return due // its end wakes the schedule
		}
		due.Create, due.Mark = last, last
		mark = last
	}
	if next := schedule.Next(mark); !next.IsZero() {
		due.After = sooner(due.After, max(next.Sub(now), time.Second))
	}
	return due
}

// day is how far the clock may be set back without a change of the mark.
const day = 24 * time.Hour

// sooner returns the shorter one of two times, of which zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// surplus returns the names of the Backups to delete, the oldest first, and the time until the next one of the others
// is old enough; zero: there is none. It deletes those that are older than the
// successful ones that are kept, and than MinAge, and the oldest failed ones if there are more of them than that
// number.
func (t Timetable) surplus(now time.Time) (names []string, after time.Duration) {
	all := slices.DeleteFunc(slices.Clone(t.Backups), func(b Scheduled) bool { return b.Deleting })
	slices.SortFunc(all, func(a, b Scheduled) int { return b.At.Compare(a.At) })
	succeeded, failed := 0, 0
	for _, b := range all {
		full := succeeded >= t.Policy.Kept()
		switch {
		case b.Succeeded && !full:
			succeeded++
		case b.Failed && !full && failed < t.Policy.Kept():
			failed++
		case b.Succeeded && b.At.Add(t.MinAge).After(now):
			after = sooner(after, b.At.Add(t.MinAge).Sub(now))
		case b.Succeeded || b.Failed:
			names = append(names, b.Name)
		}
	}
	slices.Reverse(names)
	return names, after
}

// Name returns the name of the Backup of a Provisioning for a time of the schedule.
func Name(provisioning string, at time.Time) string {
	return provisioning + "-" + at.UTC().Format("20060102150405")
}
