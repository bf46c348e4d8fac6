//go:build integration || e2e

package acceleration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// player runs the playbooks in testdata with the real ansible-playbook, on hosts that are this machine.
type player struct {
	t          *testing.T
	env        []string
	notes      string // the file to which filter note writes
	strategies string // the folder of the plugin
	inventory  string
}

func newPlayer(t *testing.T) *player {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Join(os.Getenv("BPA_STATE"), "cache", "lab", "ansible", "venv", "bin"))
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		t.Fatalf("%v: run make e2e, which builds Ansible", err)
	}
	plugins, err := filepath.Abs("plugins")
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, notes: filepath.Join(t.TempDir(), "notes"), strategies: plugins, inventory: "hosts.ini"}
	home := t.TempDir()
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANSIBLE_HOME=" + home, "ANSIBLE_LOCAL_TEMP=" + home, "ANSIBLE_REMOTE_TEMP=" + home,
		"ANSIBLE_STDOUT_CALLBACK=ansible.posix.jsonl", "ANSIBLE_CALLBACKS_ENABLED=", "ANSIBLE_NOCOLOR=1",
		"ANSIBLE_RETRY_FILES_ENABLED=False", "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "NOTES=" + p.notes}
	return p
}

// played is what a playbook has reported, without what differs between two runs.
type played struct {
	events []string
	stderr string
	status int
}

// play runs a playbook with the settings of the plugin, or without the plugin if there are none.
func (p *player) play(playbook, settings string, env ...string) played {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Minute)
	defer cancel()
	c := p.command(ctx, playbook, settings, env...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		p.t.Fatalf("ansible-playbook %s: %v\n%s", playbook, err, &stderr)
	}
	return played{events: p.events(&stdout), stderr: stderr.String(), status: c.ProcessState.ExitCode()}
}

// command returns the command that plays a playbook.
func (p *player) command(ctx context.Context, playbook, settings string, env ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "ansible-playbook", "-i", p.inventory, playbook)
	c.Dir, c.Env = "testdata", slices.Concat(p.env, env)
	if settings != "" {
		c.Env = append(c.Env, "ANSIBLE_STRATEGY_PLUGINS="+p.strategies, "BPA_ACCELERATION="+settings)
	}
	return c
}

// same plays a playbook with the settings, and compares the result with that of Ansible without the plugin.
func (p *player) same(want played, playbook, settings string, env ...string) {
	p.t.Helper()
	got := p.play(playbook, settings, env...)
	if diff := cmp.Diff(want.events, got.events); diff != "" {
		p.t.Errorf("events (-without +with):\n%s", diff)
	}
	if diff := cmp.Diff(sorted(want.stderr), sorted(got.stderr)); diff != "" {
		p.t.Errorf("stderr (-without +with):\n%s", diff)
	}
	if got.status != want.status {
		p.t.Errorf("exit status %d, without the plugin %d", got.status, want.status)
	}
}

// sorted returns lines in the order of the alphabet: warnings come from several hosts.
func sorted(text string) []string { return slices.Sorted(strings.Lines(text)) }

// green is play for a playbook that must succeed.
func (p *player) green(playbook, settings string, env ...string) played {
	p.t.Helper()
	got := p.play(playbook, settings, env...)
	if got.status != 0 {
		p.t.Fatalf("%s with %s ended with status %d:\n%s\n%s", playbook, settings, got.status, strings.Join(got.events, "\n"), got.stderr)
	}
	return got
}

// events returns the events in an order that does not depend on which host is faster: within a task, those
// of a host keep their order and follow those of the hosts before it in the alphabet.
func (p *player) events(stdout *bytes.Buffer) []string {
	p.t.Helper()
	type event struct{ hosts, text string }
	var all, task []event
	end := func() {
		slices.SortStableFunc(task, func(a, b event) int { return strings.Compare(a.hosts, b.hosts) })
		all, task = append(all, task...), nil
	}
	for line := range strings.Lines(stdout.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			p.t.Fatalf("line of stdout: %v: %s", err, line)
		}
		text, err := json.Marshal(lasting(fields))
		if err != nil {
			p.t.Fatal(err)
		}
		hosts, _ := fields["hosts"].(map[string]any)
		e := event{text: string(text)}
		for host := range hosts {
			e.hosts = host // one, if the event is of a host
		}
		if name, _ := fields["_event"].(string); strings.HasPrefix(name, "v2_runner_") {
			task = append(task, e)
			continue
		}
		end()
		all = append(all, e)
	}
	end()
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = e.text
	}
	return texts
}

var (
	// passing are the fields that two runs do not have in common.
	passing = []string{"_timestamp", "duration", "id", "uuid", "start", "end", "delta", "ansible_job_id", "results_file"}
	address = regexp.MustCompile(`0x[0-9a-f]+|ansible-tmp-[0-9.-]+|^\.[a-z0-9_]{8}$|Interrupted at .*|j?\d{10,}\.\d+`)
)

// lasting returns a value without what differs between two runs.
func lasting(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, field := range v {
			if !slices.Contains(passing, name) {
				kept[name] = lasting(field)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = lasting(v[i])
		}
		return kept
	case string:
		return address.ReplaceAllString(v, "X")
	}
	return value
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
