package v1alpha1

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"knative.dev/pkg/apis"
)

// MaxBackupNameLength is the maximum length of a Backup's name: a Provisioning's name, a dash and a
// time of the schedule. The name is a part of other names and the value of a label.
const MaxBackupNameLength = MaxNameLength + 1 + len("20060102150405")

// DefaultBackupsKept is the default of spec.backup.keep.
const DefaultBackupsKept = 7

var _ apis.Defaultable = (*Backup)(nil)

// SetDefaults does nothing: a Backup has no defaults.
func (*Backup) SetDefaults(context.Context) {}

// Kept returns the number of successful scheduled Backups to keep: at least one.
func (b *BackupPolicy) Kept() int {
	if b.Keep <= 0 {
		return DefaultBackupsKept
	}
	return int(b.Keep)
}

// Schedule has the times of a backup policy.
//
// +k8s:deepcopy-gen=false
type Schedule struct{ times cron.Schedule }

// ParseSchedule parses the schedule of a BackupPolicy. Time zones are refused, because the programs
// that read the schedule could have different zone data.
func ParseSchedule(text string) (Schedule, error) {
	if strings.Contains(text, "=") {
		return Schedule{}, errors.New("it must not name a time zone: all times are UTC")
	}
	times, err := cron.ParseStandard(strings.TrimSpace(text))
	if err != nil {
		return Schedule{}, err
	}
	if every, ok := times.(cron.ConstantDelaySchedule); ok && every.Delay < time.Minute {
		return Schedule{}, errors.New("the shortest interval is a minute")
	}
	s := Schedule{times}
	if s.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, errors.New("it has no date that exists")
	}
	return s, nil
}

// Next returns the first time of the schedule after t, in UTC; the zero time if there is none in the
// five years after t.
func (s Schedule) Next(t time.Time) time.Time {
	next := s.times.Next(t.UTC())
	if next.IsZero() {
		return time.Time{}
	}
	return next.UTC()
}

// Last returns the last time of the schedule after from and not after now. It is false if there is
// none.
func (s Schedule) Last(from, now time.Time) (last time.Time, ok bool) {
	if every, is := s.times.(cron.ConstantDelaySchedule); is { // its times count from the last one
		if passed := now.Sub(from); passed >= every.Delay {
			return from.UTC().Add(passed.Truncate(every.Delay)), true
		}
		return time.Time{}, false
	}
	// A controller that was away for long must not walk through all missed times one by one. So the
	// search begins in the newest interval that has a time of the schedule.
	for back := 2 * time.Minute; ; back *= 2 {
		begin := now.Add(-back)
		if !begin.After(from) {
			begin = from
		}
		for next := s.Next(begin); !next.IsZero() && !next.After(now); next = s.Next(next) {
			last, ok = next, true
		}
		if ok || begin.Equal(from) {
			return last, ok
		}
	}
}
