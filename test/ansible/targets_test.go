//go:build e2e

package ansible

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// When a target is played, the second column of targets.tsv.
const (
	inTest  = "test"    // by make test, and by make test-ansible
	inAll   = "all"     // only by make test-ansible
	differs = "differs" // as inAll; its result may differ for a reason that the third column names
)

// target is a line of targets.tsv.
type target struct{ name, when, why string }

// targets returns the targets of targets.tsv. They are played in this order, because some of them change the machine
// for those after them.
func targets(t *testing.T) (all []target) {
	t.Helper()
	for _, fields := range rows(t, "targets.tsv", 3) {
		all = append(all, target{fields[0], fields[1], fields[2]})
	}
	return all
}

// rows returns the fields of a file, without its comments.
func rows(t *testing.T, path string, columns int) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != columns {
			t.Fatalf("%s: want %d columns: %q", path, columns, line)
		}
		all = append(all, fields)
	}
	return all
}

// stored returns the results of earlier runs of TestAll, by target: lines of plain.tsv.
func stored(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, fields := range rows(t, "plain.tsv", 7) {
		all[fields[0]] = fields
	}
	return all
}

// plainResult returns the stored result of a target without accelerations.
func plainResult(fields []string) (o outcome, known bool) {
	if fields == nil {
		return outcome{}, false
	}
	rc, err := strconv.Atoi(fields[1])
	return outcome{RC: rc, Digest: fields[3]}, err == nil
}

// store writes plain.tsv.
func store(t *testing.T, results map[string][]string) {
	t.Helper()
	var out strings.Builder
	out.WriteString("# Results of ansible-core's integration targets without accelerations, written by make test-ansible. same: with all accelerations,\n" +
		"# each task had the same result. A target with another exit status than 0 cannot be played on a lab machine; -1: not within its time.\n" +
		"# target\trc\tresults\tdigest\tseconds\taccelerated seconds\tsame\n")
	for _, target := range targets(t) {
		if fields := results[target.name]; fields != nil {
			out.WriteString(strings.Join(fields, "\t") + "\n")
		}
	}
	if err := os.WriteFile("plain.tsv", []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestImportant plays the most important targets with all accelerations. What Ansible alone does was stored by TestAll.
func TestImportant(t *testing.T) {
	want := stored(t)
	m := newMachines(t, "e2e-ansible", 1)[0]
	for _, target := range targets(t) {
		if target.when != inTest {
			continue
		}
		t.Run(target.name, func(t *testing.T) {
			m.t = t
			got := m.play(target.name, true)
			t.Logf("%.1f s, %d results", got.Seconds, got.Results)
			accelerated(t, got)
			want, known := plainResult(want[target.name])
			if !known || want.RC != 0 {
				t.Fatal("plain.tsv has no successful run of it: run make test-ansible")
			}
			if got.same(want) {
				return
			}
			lines, printed := m.lines(target.name), m.printed(target.name)
			plain := m.play(target.name, false)
			t.Errorf("exit status %d, results (-without +with accelerations; without: exit status %d, played after it):\n%.20000s\n%s",
				got.RC, plain.RC, cmp.Diff(m.lines(target.name), lines), printed)
		})
	}
	m.t = t
	m.run(nil, time.Minute, "test", "-d", "/run/bpa-ansible-2.18.19/all") // ModuleCache has worked
}

// accelerated fails the test if a part of the accelerations was off.
func accelerated(t *testing.T, got outcome) {
	t.Helper()
	if len(got.Off) > 0 {
		t.Errorf("a part of the accelerations was off: %q", got.Off)
	}
}

// TestAll plays each target without and with all accelerations, each on a machine of its own, and writes plain.tsv. It keeps
// the lines of targets that go test -run leaves out.
func TestAll(t *testing.T) {
	machines, results := newMachines(t, "e2e-ansible-all", 2), stored(t)
	passed, same := 0, 0
	for _, target := range targets(t) {
		t.Run(target.name, func(t *testing.T) {
			plain, fast := machines[0], machines[1]
			plain.t, fast.t = t, t
			want, got := plain.play(target.name, false), fast.play(target.name, true)
			equal := got.same(want)
			t.Logf("exit status %d, %.1f s; accelerated %d, %.1f s; same: %t", want.RC, want.Seconds, got.RC, got.Seconds, equal)
			results[target.name] = strings.Split(fmt.Sprintf("%s\t%d\t%d\t%s\t%.0f\t%.0f\t%t",
				target.name, want.RC, want.Results, want.Digest, want.Seconds, got.Seconds, equal), "\t")
			store(t, results) // each time, so that an interrupted run is not lost
			if target.when != differs {
				accelerated(t, got)
			}
			if want.RC != 0 {
				if target.when == inTest {
					t.Errorf("it fails without accelerations, so make test cannot play it:\n%s", plain.printed(target.name))
				}
				return
			}
			passed++
			if equal {
				same++
				return
			}
			report := t.Errorf
			if target.when == differs {
				report = t.Logf
			}
			report("exit status %d, results (-without +with accelerations):\n%.20000s\n%s",
				got.RC, cmp.Diff(plain.lines(target.name), fast.lines(target.name)), fast.printed(target.name))
		})
	}
	t.Logf("%d targets pass without accelerations, %d have the same results with them", passed, same)
}
