//go:build integration

package acceleration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// off plays a playbook with settings that the plugin cannot use. The playbook must run as without the
// plugin, and stderr must have one more line.
func (p *player) off(settings, line string, env ...string) {
	p.t.Helper()
	want, got := p.green("small.yml", ""), p.green("small.yml", settings, env...)
	if diff := cmp.Diff(want.events, got.events); diff != "" {
		p.t.Errorf("events (-without +with):\n%s", diff)
	}
	var lines []string
	for l := range strings.Lines(got.stderr) {
		if strings.HasPrefix(l, "acceleration: ") {
			lines = append(lines, l)
		}
	}
	if diff := cmp.Diff([]string{line + "\n"}, lines); diff != "" {
		p.t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

// The cache has code, which another user could replace.
func TestPluginsRefuseAFolderThatIsNotPrivate(t *testing.T) {
	p := newPlayer(t)
	for name, spoil := range map[string]func(folder string) error{
		"others can write": func(folder string) error { return os.Chmod(folder, 0o777) },
		"others can read":  func(folder string) error { return os.Chmod(folder, 0o755) },
		"a link":           link,
		"of another user":  func(folder string) error { return os.Chown(folder, 65534, 65534) },
	} {
		if name == "of another user" && os.Getuid() != 0 {
			continue // only root can give a folder away
		}
		folder, settings := private(t, "")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := spoil(folder); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p.off(settings, "acceleration: off: templates: "+folder+" is not a private folder of this user")
	}
}

// link replaces a folder by a link to another one.
func link(folder string) error {
	target := folder + "-target"
	if err := os.Rename(folder, target); err != nil {
		return err
	}
	return os.Symlink(target, folder)
}

func TestPluginsAreOffForUntestedVersions(t *testing.T) {
	p := newPlayer(t)
	folder, settings := private(t, ","+inProcess+","+lazy)
	for module, line := range map[string]string{
		"ansible.release": "acceleration: off for ansible-core 99.1",
		"jinja2":          "acceleration: off for jinja2 99.1",
	} {
		p.off(settings, line, first(t, "import "+module+"\n"+module+".__version__ = '99.1'\n"))
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the plugin used the folder of the cache: %v", err)
	}
}

// first returns an environment variable that lets Python run a program when it starts.
func first(t *testing.T, program string) (env string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "sitecustomize.py"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return "PYTHONPATH=" + folder
}

// A thread works on a copy of its task. If it cannot copy the task, a process runs it.
func TestPluginsUseProcessesForTasksThatCannotBeCopied(t *testing.T) {
	p := newPlayer(t)
	tried := filepath.Join(t.TempDir(), "tried")
	program := `
import threading
from ansible.playbook.task import Task

copy = Task.copy

def failing(self, *args, **kwargs):
    if type(threading.current_thread()).__name__ == "Work":
        open("` + tried + `", "a").close()
        raise RuntimeError("no copy")
    return copy(self, *args, **kwargs)

Task.copy = failing
`
	p.same(p.green("small.yml", ""), "small.yml", "{"+threads+"}", first(t, program))
	if _, err := os.Stat(tried); err != nil {
		t.Errorf("no thread tried to copy a task: %v", err)
	}
}

func TestPluginsAreOffForSettingsThatTheyCannotRead(t *testing.T) {
	newPlayer(t).off(`{"templates"`, "acceleration: off: BPA_ACCELERATION is no JSON: Expecting ':' delimiter: line 1 column 13 (char 12)")
}

// A patch release of Ansible can change a function that a part replaces or repeats.
func TestPluginsAreOffForChangedFunctions(t *testing.T) {
	p := newPlayer(t)
	for _, test := range []struct{ part, settings, module, owner, function, known string }{
		{"lazyVariables", lazy, "ansible.template.vars", "AnsibleJ2Vars", "__getitem__", "AnsibleJ2Vars.__getitem__"},
		{"threads", threads, "ansible.executor.process.worker", "WorkerProcess", "_run", "WorkerProcess._run"},
		{"inProcess", inProcess, "ansible.executor.task_executor", "TaskExecutor", "_calculate_delegate_to", "TaskExecutor"},
		{"facts", facts, "ansible.vars.fact_cache", "FactCache", "flush", "FactCache"},
		{"modules", modules, "ansible.executor.module_common", "", "_find_module_utils", "_find_module_utils"},
	} {
		object := strings.TrimSuffix("m."+test.owner, ".")
		program := "import " + test.module + " as m\nbuiltin = " + object + "." + test.function +
			"\ndef changed(*args, **kwargs):\n    return builtin(*args, **kwargs)\n" + object + "." + test.function + " = changed\n"
		p.off("{"+test.settings+"}", "acceleration: off: "+test.part+": "+test.module+":"+test.known+" is not the tested one", first(t, program))
	}
}

// Each function that a part replaces is one whose text is known.
func TestPluginsKnowTheFunctionsOfThisAnsible(t *testing.T) {
	p := newPlayer(t)
	c := p.command(t.Context(), "", "")
	c.Path = filepath.Join(filepath.Dir(c.Path), "python3")
	c.Args = []string{c.Path, "../plugins/bpa_acceleration/known.py"}
	var stderr strings.Builder
	c.Stderr = &stderr
	table, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	file, err := os.ReadFile("plugins/bpa_acceleration/known.py")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(file), string(table)) {
		t.Errorf("known.py must have this table for this version of Ansible, if all tests of this package pass:\n%s", table)
	}
}
