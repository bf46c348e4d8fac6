package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func hourly(changes ...func(*Timetable)) Timetable {
	t := Timetable{Policy: &v1alpha1.BackupPolicy{Schedule: "0 * * * *", Keep: 2}, Installed: true, Mark: noon}
	for _, change := range changes {
		change(&t)
	}
	return t
}

// with adds a Backup for each letter, the oldest first, an hour apart, the last at noon: S succeeded, F
// failed, R runs, D is being deleted.
func with(states string) func(*Timetable) {
	return func(t *Timetable) {
		for i, state := range states {
			at := noon.Add(time.Duration(i+1-len(states)) * time.Hour)
			t.Backups = append(t.Backups, Scheduled{Name: fmt.Sprint(i), At: at, Succeeded: state == 'S' || state == 'D', Failed: state == 'F', Deleting: state == 'D'})
		}
	}
}

func TestTimetable(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   Timetable
		now  time.Time
		want Due
	}{
		{"no schedule", hourly(func(t *Timetable) { t.Policy = nil }), noon.Add(time.Hour), Due{}},
		{"not installed", hourly(func(t *Timetable) { t.Installed = false }), noon.Add(time.Hour), Due{}},
		{"being deleted", hourly(with("SSS"), func(t *Timetable) { t.Leaving = true }), noon.Add(time.Hour), Due{}},
		{"seen for the first time", hourly(func(t *Timetable) { t.Mark = time.Time{} }), noon.Add(90 * time.Second), Due{Mark: noon.Add(90 * time.Second), After: 3510 * time.Second}},
		{"not due", hourly(), noon.Add(59 * time.Minute), Due{After: time.Minute}},
		{"due", hourly(), noon.Add(time.Hour), Due{Create: noon.Add(time.Hour), Mark: noon.Add(time.Hour), After: time.Hour}},
		{"many times missed", hourly(), noon.Add(100*time.Hour + time.Minute), Due{Create: noon.Add(100 * time.Hour), Mark: noon.Add(100 * time.Hour), After: 59 * time.Minute}},
		{"paused", hourly(with("SSS"), func(t *Timetable) { t.Policy.Paused = true }), noon.Add(time.Hour), Due{Delete: []string{"0"}}},
		{"paused, and the oldest are young", hourly(with("SSSSS"), func(t *Timetable) { t.Policy.Paused, t.MinAge = true, 5*time.Hour }), noon.Add(time.Hour), Due{Delete: []string{"0"}, After: time.Hour}},
		{"the oldest one is young until shortly before the next time", hourly(with("SSS"), func(t *Timetable) { t.MinAge = 2*time.Hour + 50*time.Minute }), noon.Add(30 * time.Minute), Due{After: 20 * time.Minute}},
		{"the last one runs, and the oldest one is young", hourly(with("SSSR"), func(t *Timetable) { t.MinAge = 5 * time.Hour }), noon.Add(time.Hour), Due{After: time.Hour}},
		{"the last one still runs", hourly(with("R")), noon.Add(time.Hour), Due{}},
		{"it was created, but not marked", hourly(with("R"), func(t *Timetable) { t.Mark = noon.Add(-time.Hour) }), noon, Due{Create: noon, Mark: noon, After: time.Hour}},
		{"the clock was wrong", hourly(func(t *Timetable) { t.Mark = noon.Add(1000 * time.Hour) }), noon, Due{Mark: noon, After: time.Hour}},
		{"a bad schedule", hourly(func(t *Timetable) { t.Policy.Schedule = "x" }), noon.Add(time.Hour), Due{}},
	} {
		if diff := cmp.Diff(tc.want, tc.in.At(tc.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestRetention(t *testing.T) {
	for states, want := range map[string]string{
		"":         "",
		"SS":       "",
		"SSS":      "0",
		"SFSSR":    "0 1",
		"FSFS":     "0",
		"SFFFFF":   "1 2 3", // two failed ones are kept, and the only successful one
		"FFFF":     "0 1",
		"DSS":      "",
		"SDDD":     "",
		"RSSS":     "1", // an old one that still runs is no surplus
		"SSFFFFFS": "0 2 3 4",
	} {
		if got := strings.Join(hourly(with(states)).At(noon).Delete, " "); got != want {
			t.Errorf("%s: deletes %q, want %q", states, got, want)
		}
	}
}

// In a random history, the newest successful Backup stays, and at most one Backup is created for each
// time of the schedule.
func TestRandomHistory(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		table, now := hourly(), noon
		made := map[time.Time]bool{}
		for range 60 {
			now = now.Add(time.Duration(r.IntN(200)) * time.Minute)
			due := table.At(now)
			if !due.Create.IsZero() {
				if made[due.Create] {
					t.Fatalf("seed %d: created twice for %s", seed, due.Create)
				}
				made[due.Create] = true
				table.Backups = append(table.Backups, Scheduled{Name: Name("e", due.Create), At: due.Create})
			}
			if !due.Mark.IsZero() {
				table.Mark = due.Mark
			}
			newest := slices.MaxFunc(append([]Scheduled{{}}, table.Backups...), func(a, b Scheduled) int {
				if a.Succeeded != b.Succeeded {
					return map[bool]int{true: 1, false: -1}[a.Succeeded]
				}
				return a.At.Compare(b.At)
			})
			if newest.Succeeded && slices.Contains(due.Delete, newest.Name) {
				t.Fatalf("seed %d: the newest successful Backup is deleted", seed)
			}
			table.Backups = slices.DeleteFunc(table.Backups, func(b Scheduled) bool { return slices.Contains(due.Delete, b.Name) })
			if i := slices.IndexFunc(table.Backups, func(b Scheduled) bool { return !b.Succeeded && !b.Failed }); i >= 0 && r.IntN(3) > 0 {
				table.Backups[i].Succeeded = r.IntN(2) == 0
				table.Backups[i].Failed = !table.Backups[i].Succeeded
			}
			if len(table.Backups) > 2*int(table.Policy.Keep)+1 {
				t.Fatalf("seed %d: %d Backups are kept", seed, len(table.Backups))
			}
		}
		if len(made) < 5 {
			t.Fatalf("seed %d: only %d Backups", seed, len(made))
		}
	}
}

func TestName(t *testing.T) {
	if got := Name("edge-1", noon.In(time.FixedZone("", 3600))); got != "edge-1-20261122120000" {
		t.Errorf("Name() = %q", got)
	}
}
