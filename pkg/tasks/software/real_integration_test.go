//go:build integration

package software

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// machine is a node whose apt and dpkg work in a folder: the real ansible, apt and dpkg of this machine.
type machine struct {
	t      *testing.T
	dir    string
	server *httptest.Server
	files  sync.Map // by path
	store  memory
	work   *Work
	log    bytes.Buffer
	node   contract.Node
	limits Limits
}

func newMachine(t *testing.T) *machine {
	t.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Join(os.Getenv("BPA_STATE"), "cache", "lab", "ansible", "venv", "bin"))
	for _, program := range []string{"ansible-playbook", "apt-get", "dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: run make e2e, which builds Ansible", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("dpkg sets the owners of files, so this test needs root")
	}
	m := &machine{t: t, dir: t.TempDir(), node: contract.Node{Name: "node-1", HostUID: "uid-1", Roles: []string{contract.RoleWorker}},
		limits: Limits{Lock: 20 * time.Second, Script: 20 * time.Second, Apply: 5 * time.Minute}}
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers", "var/lib/apt/lists/partial",
		"var/cache/apt/archives/partial", "var/log/apt", "etc/apt/preferences.d", "etc/apt/apt.conf.d", "source", "scratch"} {
		if err := os.MkdirAll(filepath.Join(m.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available", "source/Packages"} {
		m.write(file, "")
	}
	m.write("sources.list", "deb [trusted=yes] file:"+m.dir+"/source ./\n")
	m.write("apt.conf", fmt.Sprintf(`Dir "%[1]s"; Dir::State::status "%[1]s/var/lib/dpkg/status"; Dir::Etc::sourcelist "%[1]s/sources.list"; Dir::Etc::sourceparts "-";
Dir::Bin::dpkg "/usr/bin/dpkg"; Dir::Bin::Methods "/usr/lib/apt/methods";
DPkg::Options { "--root=%[1]s"; "--force-not-root"; "--force-script-chrootless"; };
APT::Sandbox::User "root"; APT::Architecture "amd64"; Acquire::Languages "none";
`, m.dir))
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := m.files.Load(r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content.([]byte))
	}))
	t.Cleanup(m.server.Close)
	return m
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(m.dir, name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) read(name string) string {
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// deb builds a package with a configuration file.
func (m *machine) deb(name, version string, fields ...string) (control string, content []byte) {
	m.t.Helper()
	tree := m.t.TempDir()
	control = strings.Join(append([]string{"Package: " + name, "Version: " + version, "Architecture: all", "Maintainer: Nobody <nobody@example.org>", "Description: nothing"}, fields...), "\n") + "\n"
	for file, text := range map[string]string{"DEBIAN/control": control, "DEBIAN/conffiles": "/etc/" + name + ".conf\n", "etc/" + name + ".conf": version + "\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, file)), 0o755); err != nil {
			m.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, file), []byte(text), 0o644); err != nil {
			m.t.Fatal(err)
		}
	}
	file := filepath.Join(m.t.TempDir(), "package.deb")
	if out, err := exec.CommandContext(m.t.Context(), "dpkg-deb", "--root-owner-group", "-b", tree, file).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		m.t.Fatal(err)
	}
	return control, content
}

// offer puts a package into the node's package source.
func (m *machine) offer(name, version string, fields ...string) {
	control, content := m.deb(name, version, fields...)
	file := name + "_" + version + ".deb"
	m.write("source/"+file, string(content))
	m.write("source/Packages", m.read("source/Packages")+control+fmt.Sprintf("Filename: ./%s\nSize: %d\nSHA256: %x\n\n", file, len(content), sha256.Sum256(content)))
}

// upload puts a file into the depot.
func (m *machine) upload(format, path string, content []byte) contract.SoftwareFile {
	m.files.Store(path, content)
	return contract.SoftwareFile{Format: format, Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(content)), Size: int64(len(content))}
}

// debFile uploads a deb package.
func (m *machine) debFile(name, version string, fields ...string) contract.Software {
	_, content := m.deb(name, version, fields...)
	return contract.Software{Name: name, Version: version, Workers: true, Files: []contract.SoftwareFile{m.upload("deb", "/files/"+name+"-"+version, content)}}
}

// tarFile uploads a tar package with these files; a name that ends with "->" is a link.
func (m *machine) tarFile(name, version string, files ...[2]string) contract.Software {
	m.t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, f := range files {
		h := &tar.Header{Name: f[0], Mode: 0o755, Size: int64(len(f[1])), Typeflag: tar.TypeReg}
		if link, ok := strings.CutSuffix(f[0], "->"); ok {
			h = &tar.Header{Name: link, Linkname: f[1], Typeflag: tar.TypeSymlink}
			f[1] = ""
		}
		if err := w.WriteHeader(h); err != nil {
			m.t.Fatal(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		m.t.Fatal(err)
	}
	return contract.Software{Name: name, Version: version, Workers: true, Files: []contract.SoftwareFile{m.upload("tar", "/files/"+name+"-"+version, buffer.Bytes())}}
}

// run looks and changes once. asked is as in contract.SoftwareRun.
func (m *machine) run(asked string, packages ...contract.Software) {
	m.t.Helper()
	record, err := ReadRecord(m.t.Context(), &m.store, time.Now)
	if err != nil {
		m.t.Fatal(err)
	}
	python := "auto_silent"
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		python = "/usr/bin/python3"
	}
	m.work = &Work{
		Rules: Rules{Run: contract.SoftwareRun{Packages: packages, Nodes: []string{"node-1"}, Asked: asked}, DepotURL: m.server.URL}, Record: record,
		Changes: func(contract.Node) bool { return true },
		Machines: &Machines{
			Task: "test", HostsINI: []byte("[all]\nnode-1 ansible_connection=local ansible_become=false ansible_python_interpreter=" + python + "\n"), GroupVars: []byte("{}"),
			PrivateKey: []byte("none"), PlaybooksDir: m.t.TempDir(), ScratchDir: filepath.Join(m.dir, "scratch"), Log: &m.log, Report: func(string) {},
			Limits: m.limits, Root: filepath.Join(m.dir, "bpa"),
			Exec: func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
				c.Env = append(c.Env, "APT_CONFIG="+filepath.Join(m.dir, "apt.conf"), "DPKG_ROOT="+m.dir, "DPKG_ADMINDIR="+filepath.Join(m.dir, "var/lib/dpkg"))
				for i, arg := range c.Args {
					if arg == "-b" {
						c.Args[i] = "-v" // local connections of root need no sudo
					}
				}
				return process.Exec(ctx, process.KillAfter, c, stdout, stderr)
			},
		},
	}
	nodes := []contract.Node{m.node}
	if err := m.work.Look(m.t.Context(), nodes); err != nil {
		m.t.Fatalf("%v\n%s", err, &m.log)
	}
	if m.work.Disruption(m.node) == "" {
		return
	}
	if _, err := m.work.Apply(m.t.Context(), nodes); err != nil {
		m.t.Fatalf("%v\n%s", err, &m.log)
	}
}

// expect compares the record with rows such as "curl 1.0 Installed ours", and messages with a part of them.
func (m *machine) expect(rows ...string) {
	m.t.Helper()
	record, err := ReadRecord(m.t.Context(), &m.store, time.Now)
	if err != nil {
		m.t.Fatal(err)
	}
	var got, want []string
	for i, row := range record.of(m.node).Packages {
		text := row.Name + " " + row.Installed + " " + string(row.State)
		if row.Ours {
			text += " ours"
		}
		expected := ""
		if i < len(rows) {
			expected = rows[i]
		}
		_, part, ok := strings.Cut(expected, ": ")
		if row.Message != "" && ok && strings.Contains(row.Message, part) {
			text += ": " + part
		} else if row.Message != "" {
			text += ": " + row.Message
		}
		got = append(got, text)
	}
	want = append(want, rows...)
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("record (-want +got):\n%s\n%s", diff, &m.log)
	}
}

func TestRealDebs(t *testing.T) {
	m := newMachine(t)
	m.offer("needed", "1.0")
	m.offer("plain", "1.0")
	m.offer("plain", "2.0")
	tool := m.debFile("tool", "1.0", "Depends: needed")
	none := contract.Software{Name: "none", Workers: true}
	gone := contract.Software{Name: "plain", Version: "3.0", Pinned: true, Workers: true}

	m.run("", none, gone, tool)
	m.expect("none  Failed: package none does not exist", "plain  Failed: the node's package sources have only 2.0, 1.0", "tool 1.0 Installed ours")
	if got := m.read("etc/needed.conf"); got != "1.0\n" {
		t.Errorf("the dependency: %s", got)
	}

	m.write("etc/tool.conf", "of the site\n")
	pinned := contract.Software{Name: "plain", Version: "1.0", Pinned: true, Workers: true}
	m.run("", pinned, m.debFile("tool", "2.0"))
	m.expect("plain 1.0 Installed ours", "tool 2.0 Installed ours")
	if got := m.read("etc/tool.conf"); got != "of the site\n" {
		t.Errorf("the configuration of the site became %q", got)
	}
	log := m.log.Len()
	m.run("", pinned, m.debFile("tool", "2.0"))
	if text := m.log.String()[log:]; strings.Contains(text, "install ") {
		t.Errorf("a second run works again:\n%s", text)
	}

	// an older upload is no update; an older pinned version is
	m.run("", contract.Software{Name: "plain", Workers: true}, m.debFile("tool", "1.5"))
	m.expect("plain 2.0 Installed ours", "tool 2.0 Installed ours")
	older := m.debFile("tool", "1.5")
	older.Pinned = true
	m.run("", pinned, older)
	m.expect("plain 1.0 Installed ours", "tool 1.5 Installed ours")

	// a needed package is not removed with its dependents
	m.offer("user", "1.0", "Depends: tool")
	user := contract.Software{Name: "user", Workers: true}
	m.run("", older, user)
	m.expect("tool 1.5 Installed ours", "user 1.0 Installed ours")
	m.run("", user)
	m.expect("tool 1.5 Failed ours: dependency problems prevent removal", "user 1.0 Installed ours")
	m.run("")
	m.expect("tool 1.5 Failed ours: dependency problems prevent removal") // not tried again, until somebody asks
	m.run("again")
	m.expect()
	if strings.Contains(m.read("var/lib/dpkg/status"), "Package: tool\nStatus: install ok installed") {
		t.Error("tool is still installed")
	}
}

func TestRealDriftAndForeignPackages(t *testing.T) {
	m := newMachine(t)
	tool := m.debFile("tool", "1.0")
	m.dpkg("-i", m.saved("tool", "1.0"))
	m.run("", tool)
	m.expect("tool 1.0 Installed")
	m.run("")
	m.expect()
	if !strings.Contains(m.read("var/lib/dpkg/status"), "Package: tool\nStatus: install ok installed") {
		t.Error("a package that was there before is removed")
	}
	m.dpkg("--purge", "tool")
	m.run("", tool)
	m.expect("tool 1.0 Installed ours")
	m.dpkg("--purge", "tool")
	m.run("", tool)
	m.expect("tool  Drifted ours: somebody else has removed version 1.0")
	m.run("", tool)
	m.expect("tool  Drifted ours: somebody else has removed version 1.0")
	m.run("now", tool)
	m.expect("tool 1.0 Installed ours")
}

func (m *machine) saved(name, version string) string {
	content, _ := m.files.Load("/files/" + name + "-" + version)
	m.write("saved.deb", string(content.([]byte)))
	return filepath.Join(m.dir, "saved.deb")
}

func (m *machine) dpkg(args ...string) {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), "dpkg", append([]string{"--root=" + m.dir, "--force-bad-path"}, args...)...)
	if out, err := c.CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
}

func TestRealTars(t *testing.T) {
	m := newMachine(t)
	did := filepath.Join(m.dir, "did")
	script := func(verb string) string {
		return "#!/bin/sh\necho " + verb + " $NAME $VERSION after \"$PREVIOUS_VERSION\" >>" + did + "\n"
	}
	uninstall := [2]string{"./uninstall.sh", script("uninstall")}
	first := m.tarFile("driver", "1.0", [2]string{"./install.sh", script("install")}, uninstall)
	m.run("", first)
	m.expect("driver 1.0 Installed ours")
	second := m.tarFile("driver", "1.1", [2]string{"driver-1.1/install.sh", script("install")}, [2]string{"driver-1.1/data", "x"}, [2]string{"driver-1.1/link->", "data"},
		[2]string{"driver-1.1/uninstall.sh", script("uninstall")})
	m.run("", second)
	m.expect("driver 1.1 Installed ours")
	if _, err := os.Stat(filepath.Join(m.dir, "bpa/driver/1.0")); !os.IsNotExist(err) {
		t.Errorf("the folder of the old version: %v", err)
	}
	failing := m.tarFile("driver", "1.2", [2]string{"install.sh", "#!/bin/sh\necho no such device\necho password=secret\nexit 3\n"})
	m.run("", failing)
	m.expect("driver 1.1 Failed ours: install.sh ended with exit status 3:\nno such device\npassword=[hidden]")
	slow := m.tarFile("driver", "1.3", [2]string{"install.sh", "#!/bin/sh\nsleep 600 & wait\n"})
	m.limits.Script = time.Second
	m.run("", slow)
	m.expect("driver 1.1 Failed ours: has not ended within 1 s")
	m.limits.Script = 20 * time.Second
	for i, bad := range [][2]string{{"../../up", "x"}, {"/tmp/absolute", "x"}, {"out->", "/etc"}, {"out->", "../../.."}} {
		m.run("", m.tarFile("driver", fmt.Sprint("1.4.", i), [2]string{"install.sh", "#!/bin/sh\ntrue\n"}, bad))
		m.expect("driver 1.1 Failed ours: leads out of its folder")
	}
	wrong := m.tarFile("driver", "1.5", [2]string{"install.sh", "#!/bin/sh\ntrue\n"})
	wrong.Files[0].SHA256 = strings.Repeat("0", 64)
	m.run("", wrong)
	m.expect("driver 1.1 Failed ours: has the digest")
	m.run("")
	m.expect()
	want := "install driver 1.0 after \ninstall driver 1.1 after 1.0\nuninstall driver 1.1 after \n"
	if diff := cmp.Diff(want, m.read("did")); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "bpa/driver")); !os.IsNotExist(err) {
		t.Errorf("the folder of the package: %v", err)
	}
}

// Another process, such as unattended-upgrades, holds the lock of dpkg.
func TestRealLock(t *testing.T) {
	m := newMachine(t)
	tool := m.debFile("tool", "1.0")
	file, err := os.OpenFile(filepath.Join(m.dir, "var/lib/dpkg/lock-frontend"), os.O_CREATE|os.O_RDWR, 0o640)
	if err == nil {
		err = syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
	}
	if err != nil {
		t.Fatal(err)
	}
	m.limits.Lock = 2 * time.Second
	m.run("", tool)
	m.expect("tool  Pending: lock") // a later run tries again
	m.limits.Lock = 2 * time.Minute
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !m.waits() && t.Context().Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		file.Close()
	}()
	m.run("again", tool)
	<-done
	m.expect("tool 1.0 Installed ours")
}

// waits reports whether a process waits for the lock: apt or dpkg of this folder runs.
func (m *machine) waits() bool {
	lists, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range lists {
		environ, _ := os.ReadFile(path)
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if bytes.Contains(environ, []byte("DPKG_ROOT="+m.dir)) && bytes.HasPrefix(command, []byte("apt-get")) && bytes.Contains(command, []byte("install")) {
			return true
		}
	}
	return false
}
