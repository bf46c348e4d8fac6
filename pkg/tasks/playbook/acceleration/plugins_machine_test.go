//go:build e2e

package acceleration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/test/site"
)

// remains is a shell command that fails while a process of the acceleration Interpreter is on the machine.
const remains = `! ps -eo args | grep "[b]pa-node"`

// machine is a lab machine with real sshd and sudo, which is two hosts of an inventory: user root, and a user with sudo.
type machine struct {
	*player
	s        *site.Site
	settings string
}

const threaded = `"threads":true,` // in the settings of a machine

func newMachine(t *testing.T, namespace string) machine {
	t.Helper()
	s := site.New(t, namespace, 1, 0)
	s.On("host-1", `useradd --create-home --shell /bin/bash login && cp -r /root/.ssh /home/login/ && chown -R login: /home/login/.ssh
		echo "login ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/login
		echo "127.0.0.1 bpa-renamed" >>/etc/hosts
		# Ansible imports this module of Debian's python3-systemd, which imports uuid, which lets Python keep the host name.
		folder=/usr/lib/python3/dist-packages/systemd && mkdir -p $folder && touch $folder/__init__.py && echo "import uuid" >$folder/journal.py`)
	p, folder := newPlayer(t), short(t)
	key, inventory := filepath.Join(folder, "key"), filepath.Join(folder, "hosts.ini")
	put(t, key, string(s.Secret("ssh-key", "ssh-privatekey")))
	address := strings.Fields(s.On("host-1", "hostname -I"))[0]
	put(t, inventory, fmt.Sprintf(`root ansible_user=root
user ansible_user=login
[all:vars]
ansible_host=%s
ansible_ssh_private_key_file=%s
ansible_python_interpreter=/usr/bin/python3
`, address, key))
	p.inventory = inventory
	large := filepath.Join(folder, "large")
	put(t, large, strings.Repeat("0123456789abcdef", 18<<16))
	p.env = slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "ANSIBLE_REMOTE_TEMP=") })
	p.env = append(p.env, "ANSIBLE_PIPELINING=True", "ANSIBLE_HOST_KEY_CHECKING=False", "ANSIBLE_SSH_CONTROL_PATH_DIR="+filepath.Join(folder, "cp"),
		"ANSIBLE_SSH_ARGS=-o ControlMaster=auto -o ControlPersist=30s -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR", "LARGE="+large)
	return machine{p, s, `{` + threaded + `"modules":true,"interpreter":"` + filepath.Join(folder, "nodes") + `"}`}
}

// short returns a new folder whose path is short enough for sockets.
func short(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "bpa")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// TestInterpreter plays playbooks on a real machine with and without the acceleration Interpreter.
func TestInterpreter(t *testing.T) {
	m := newMachine(t, "e2e-interpreter")
	for _, test := range []struct {
		name string
		run  func(*testing.T, machine)
	}{
		{"a process starts all modules", testOneParent},
		{"the result is the same", testSameOnMachine},
		{"nothing remains", func(_ *testing.T, m machine) { m.s.AwaitOn("host-1", remains, time.Minute) }},
		{"the process is killed in a module", testKilledProcess},
		{"Ansible is killed", testKilledAnsible},
		{"sudo requires a password", testSudoWithPassword},
		{"one session for each connection", testOneSession},
	} {
		t.Run(test.name, func(t *testing.T) {
			m.t = t
			test.run(t, m)
		})
	}
}

var parent = regexp.MustCompile(`"parent":(\d+)`)

// testOneParent shows that the acceleration does something, which equal results cannot show.
func testOneParent(t *testing.T, m machine) {
	for settings, want := range map[string]int{"": 3, m.settings: 1} {
		got := m.green("machine-state.yml", settings)
		all := strings.Join(got.events, "\n")
		parents := parent.FindAllString(all, -1)
		if n := len(slices.Compact(slices.Sorted(slices.Values(parents)))); n != want || len(parents) != 3 {
			t.Errorf("with %q, modules had the parents %v, want %d different ones", settings, parents, want)
		}
		if shown := !strings.Contains(all, `"stdout":"0"`); shown != (settings == "") {
			t.Errorf("with %q, a variable of the environment is on a command line of the machine: %t", settings, shown)
		}
	}
}

func testSameOnMachine(t *testing.T, m machine) {
	want := m.play("machine.yml", `{"modules":true}`) // other tests compare it with Ansible alone; tracebacks have its lines
	if all := strings.Join(want.events, "\n"); !strings.Contains(all, `"stdout":"handled"`) || !strings.Contains(all, `"found":"found"`) {
		t.Fatalf("the playbook did not reach its end:\n%.4000s\n%s", strings.Join(want.events[max(0, len(want.events)-3):], "\n"), want.stderr)
	}
	for _, settings := range []string{m.settings, strings.Replace(m.settings, threaded, "", 1)} {
		for _, host := range []string{"root", "user"} { // what the playbook has fetched
			if err := os.Remove(m.notes + "-" + host); err != nil {
				t.Fatal(err)
			}
		}
		m.same(want, "machine.yml", settings)
	}
}

// started returns how often the module of machine-small.yml was started, as user root.
func (m machine) started(path string) int {
	return strings.Count(m.s.On("host-1", "cat "+path+" || true"), "started")
}

// A module that was sent is not started again, and the next run is as always.
func testKilledProcess(t *testing.T, m machine) {
	m.s.On("host-1", "rm -f /tmp/bpa-killed-*")
	got := m.play("machine-small.yml", m.settings, "DO=kill-parent", "STARTED=/tmp/bpa-killed")
	if all := strings.Join(got.events, "\n"); strings.Count(all, `"unreachable":true`) != 2 || !strings.Contains(all, "Lost the connection to the node while a module ran") {
		t.Errorf("want two hosts that are unreachable:\n%s\n%s", all, got.stderr)
	}
	for _, host := range []string{"root", "user"} {
		if n := m.started("/tmp/bpa-killed-" + host); n != 1 {
			t.Errorf("the module on %s was started %d times, want once", host, n)
		}
	}
	m.green("machine-small.yml", m.settings)
}

func testKilledAnsible(t *testing.T, m machine) {
	m.s.On("host-1", "rm -f /tmp/bpa-sleeps-*")
	c := m.command(t.Context(), "machine-small.yml", m.settings, "DO=sleep", "STARTED=/tmp/bpa-sleeps")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	m.s.AwaitOn("host-1", "[ $(cat /tmp/bpa-sleeps-* | wc -l) = 2 ]", time.Minute)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()                                                // it was killed
	m.s.On("host-1", `pkill -KILL -f "[b]pa-node" || true`) // the modules, which sleep as they would without the acceleration
	m.s.AwaitOn("host-1", remains, time.Minute)
	m.green("machine-small.yml", m.settings)
}

func testSudoWithPassword(t *testing.T, m machine) {
	m.s.On("host-1", `echo "login ALL=(ALL) ALL" >/etc/sudoers.d/login`)
	want := m.play("machine-small.yml", "", "DO=session")
	m.same(want, "machine-small.yml", m.settings, "DO=session")
	if !strings.Contains(strings.Join(want.events, "\n"), "Missing sudo password") {
		t.Errorf("sudo has not asked for a password:\n%s", strings.Join(want.events, "\n"))
	}
	m.s.On("host-1", `echo "login ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/login`)
}

func testOneSession(t *testing.T, m machine) {
	m.s.On("host-1", `echo "MaxSessions 1" >/etc/ssh/sshd_config.d/one.conf; systemctl reload ssh`)
	want := m.green("machine-small.yml", "", "DO=session", "ANSIBLE_SSH_CONTROL_PATH_DIR="+filepath.Join(short(t), "cp"))
	m.same(want, "machine-small.yml", m.settings, "DO=session", "ANSIBLE_SSH_CONTROL_PATH_DIR="+filepath.Join(short(t), "cp"))
	m.s.On("host-1", "rm /etc/ssh/sshd_config.d/one.conf; systemctl reload ssh")
}
