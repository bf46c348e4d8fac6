//go:build integration

package acceleration

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	threads   = `"threads":true`
	inProcess = `"inProcess":true`
	lazy      = `"lazyVariables":["downloads"]`
	facts     = `"facts":true`
	modules   = `"modules":true`
)

// TestPluginsReportTheSame plays a playbook of many cases with each acceleration alone and with all of
// them, and compares events, exit status and stderr with those of Ansible without the plugin.
func TestPluginsReportTheSame(t *testing.T) {
	p := newPlayer(t)
	want := p.play("tricky.yml", "")
	report := strings.Join(want.events, "\n")
	for _, reached := range []string{"handled h1", "free", "before", "end"} { // of the last tasks
		if !strings.Contains(report, `"msg":"`+reached+`"`) {
			t.Fatalf("the playbook did not reach the task that reports %q:\n%s\n%s", reached, report, want.stderr)
		}
	}
	_, templates := private(t, "")
	_, all := private(t, ","+threads+","+inProcess+","+lazy+","+facts+","+modules)
	for _, test := range []struct{ name, settings string }{
		{"templates", templates},
		{"templates, with a full cache", templates},
		{"threads", "{" + threads + "}"},
		{"in process", "{" + inProcess + "}"},
		{"lazy variables", "{" + lazy + "}"},
		{"facts", "{" + facts + "}"},
		{"modules", "{" + modules + "}"},
		{"modules, unpacked before", "{" + modules + "}"},
		{"all", all},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.t = t
			p.same(want, "tricky.yml", test.settings)
		})
	}
}

// TestPluginsLoseNoTask plays tasks that are refused by their threads, which let the main thread run before it knows that.
func TestPluginsLoseNoTask(t *testing.T) {
	p := newPlayer(t)
	want := p.green("slow.yml", "")
	if got := strings.Count(strings.Join(want.events, "\n"), "v2_runner_on_ok"); got != 3 {
		t.Fatalf("%d results of tasks, want 3:\n%s", got, strings.Join(want.events, "\n"))
	}
	p.same(want, "slow.yml", "{"+threads+"}")
}

var process = regexp.MustCompile(`pid \d+`)

// effects plays effects.yml and returns which entries were evaluated and in how many processes.
func (p *player) effects(settings string) (evaluated []string, processes int) {
	p.t.Helper()
	if err := os.RemoveAll(p.notes); err != nil {
		p.t.Fatal(err)
	}
	got := p.green("effects.yml", settings)
	notes, err := os.ReadFile(p.notes)
	if err != nil {
		p.t.Fatal(err)
	}
	pids := slices.Sorted(slices.Values(process.FindAllString(strings.Join(got.events, "\n"), -1)))
	return slices.Compact(slices.Sorted(strings.Lines(string(notes)))), len(slices.Compact(pids))
}

// TestPluginsWork shows that the accelerations do something, which their equal results cannot show.
func TestPluginsWork(t *testing.T) {
	p := newPlayer(t)
	all, used := []string{"unused\n", "used\n"}, []string{"used\n"}
	for _, test := range []struct {
		name, settings string
		evaluated      []string
		processes      int
	}{
		{"without the plugin", "", all, 6},
		{"no acceleration", "{}", all, 6},
		{"threads", "{" + threads + "}", all, 4},
		{"in process", "{" + inProcess + "}", all, 4},
		{"threads and in process", "{" + threads + "," + inProcess + "}", all, 1},
		{"lazy variables", "{" + lazy + "}", used, 6},
	} {
		evaluated, processes := p.effects(test.settings)
		if diff := cmp.Diff(test.evaluated, evaluated); diff != "" || processes != test.processes {
			t.Errorf("%s: %d processes, want %d; evaluated entries (-want +got):\n%s", test.name, processes, test.processes, diff)
		}
	}
}

func TestPluginsKeepCompiledTemplates(t *testing.T) {
	p := newPlayer(t)
	folder, settings := private(t, "")
	p.green("small.yml", settings)
	first := written(t, folder)
	if len(first) == 0 {
		t.Fatal("the cache of compiled templates is empty")
	}
	p.green("small.yml", settings)
	if diff := cmp.Diff(first, written(t, folder)); diff != "" {
		t.Errorf("the second run compiled templates again (-first +second):\n%s", diff)
	}
}

func TestPluginsReplaceDamagedTemplates(t *testing.T) {
	p := newPlayer(t)
	folder, settings := private(t, "")
	want := p.green("small.yml", settings)
	damaged := 0
	for name := range written(t, folder) {
		path := filepath.Join(folder, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := len(content) - 1
		empty, half, flipped := []byte{}, content[:len(content)/2], append(content[:last:last], content[last]^1)
		if err := os.WriteFile(path, [][]byte{empty, half, flipped}[damaged%3], 0o600); err != nil {
			t.Fatal(err)
		}
		damaged++
	}
	before := written(t, folder)
	got := p.green("small.yml", settings)
	if diff := cmp.Diff(want.events, got.events); diff != "" {
		t.Errorf("events (-whole +damaged):\n%s", diff)
	}
	for name, at := range written(t, folder) {
		if at.Equal(before[name]) {
			t.Errorf("%s is damaged and was not replaced", name)
		}
	}
	if damaged < 3 {
		t.Errorf("only %d templates are in the cache", damaged)
	}
}

// private returns a new folder for the cache of compiled templates, and the settings that use it.
func private(t *testing.T, more string) (folder, settings string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "templates")
	return folder, `{"templates":"` + folder + `"` + more + `}`
}

// written returns when each file in a folder was written.
func written(t *testing.T, folder string) map[string]time.Time {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		times[e.Name()] = info.ModTime()
	}
	return times
}
