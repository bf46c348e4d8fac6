//go:build integration

package upgrade

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// aptRoot is a folder with the state of apt and dpkg, and beside it a source of packages.
type aptRoot struct {
	t   *testing.T
	dir string
}

func newAptRoot(t *testing.T) *aptRoot {
	r := &aptRoot{t: t, dir: t.TempDir()}
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers", "var/lib/apt/lists/partial",
		"var/cache/apt/archives/partial", "var/log/apt", "etc/apt/preferences.d", "etc/apt/apt.conf.d", "source"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available", "source/Packages"} {
		r.write(file, "")
	}
	r.write("sources.list", "deb [trusted=yes] file:"+r.dir+"/source ./\n")
	r.write("apt.conf", fmt.Sprintf(`Dir "%[1]s"; Dir::State::status "%[1]s/var/lib/dpkg/status"; Dir::Etc::sourcelist "%[1]s/sources.list"; Dir::Etc::sourceparts "-";
Dir::Bin::dpkg "/usr/bin/dpkg"; Dir::Bin::Methods "/usr/lib/apt/methods";
DPkg::Options { "--root=%[1]s"; "--force-not-root"; "--force-script-chrootless"; "--force-bad-path"; };
APT::Sandbox::User "root"; APT::Architecture "amd64"; Acquire::Languages "none";
`, r.dir))
	return r
}

func (r *aptRoot) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *aptRoot) read(name string) string {
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Error(err)
	}
	return string(text)
}

// command returns a command that works on the folder.
func (r *aptRoot) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(r.t.Context(), name, args...)
	c.Env = []string{"APT_CONFIG=" + filepath.Join(r.dir, "apt.conf"), "DPKG_ADMINDIR=" + filepath.Join(r.dir, "var/lib/dpkg"), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	return c
}

func (r *aptRoot) must(c *exec.Cmd) {
	r.t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
}

// offers builds a package with a configuration file, and adds it to the source. It returns its file.
func (r *aptRoot) offers(name, version string, fields ...string) string {
	r.t.Helper()
	tree := r.t.TempDir()
	control := strings.Join(append([]string{"Package: " + name, "Version: " + version, "Architecture: all", "Maintainer: Nobody <nobody@example.org>", "Description: nothing"}, fields...), "\n") + "\n"
	for file, text := range map[string]string{"DEBIAN/control": control, "DEBIAN/conffiles": "/etc/" + name + ".conf\n", "etc/" + name + ".conf": version + "\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, file)), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, file), []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	file := name + "_" + version + ".deb"
	r.must(r.command("dpkg-deb", "--root-owner-group", "-b", tree, filepath.Join(r.dir, "source", file)))
	content := r.read("source/" + file)
	r.write("source/Packages", r.read("source/Packages")+control+fmt.Sprintf("Filename: ./%s\nSize: %d\nSHA256: %x\n\n", file, len(content), sha256.Sum256([]byte(content))))
	return filepath.Join(r.dir, "source", file)
}

// patch runs patchScript, and returns the changed packages, the exit status and what it says.
func (r *aptRoot) patch() (p patches, status int, said string) {
	r.t.Helper()
	var stdout, stderr bytes.Buffer
	c := r.command("sh", "-c", patchScript)
	c.Stdout, c.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := c.Run(); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		r.t.Fatal(err)
	}
	return parsePatches(stdout.Bytes()), status, stderr.String()
}

// The real apt and dpkg of this machine upgrade packages in a folder.
func TestPatchScriptWithRealApt(t *testing.T) {
	for _, program := range []string{"apt-get", "dpkg", "dpkg-deb", "dpkg-query"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install apt and dpkg", err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("dpkg sets the owners of files, so this test needs root")
	}
	r := newAptRoot(t)
	r.must(r.command("dpkg", "--root="+r.dir, "--force-bad-path", "-i", r.offers("edited", "1.0"), r.offers("held", "1.0")))
	hold := r.command("dpkg", "--root="+r.dir, "--set-selections")
	hold.Stdin = strings.NewReader("held hold\n")
	r.must(hold)
	r.write("etc/edited.conf", "of the user\n")
	r.offers("edited", "2.0", "Depends: new")
	r.offers("held", "2.0")
	r.offers("new", "1.0")

	release := r.lock("var/lib/dpkg/lock-frontend")
	if _, status, said := r.patch(); status != packagesLocked || !strings.Contains(said, "locked by another process") {
		t.Errorf("dpkg is locked: status %d, %s", status, said)
	}
	release()
	release = r.lock("var/lib/apt/lists/lock")
	if _, status, said := r.patch(); status != packagesLocked || !strings.Contains(said, "It is held by process") {
		t.Errorf("apt is locked: status %d, %s", status, said)
	}
	release()
	r.write("sources.list", "deb [trusted=yes] file:"+r.dir+"/none ./\n")
	if _, status, said := r.patch(); status != packagesMissing {
		t.Errorf("without a source: status %d, %s", status, said)
	}
	r.write("sources.list", "deb [trusted=yes] file:"+r.dir+"/source ./\n")

	p, status, said := r.patch()
	if diff := cmp.Diff([]string{"edited:all 1.0 -> 2.0", "new:all - -> 1.0"}, p.packages); status != 0 || diff != "" {
		t.Errorf("status %d, %s, packages (-want +got):\n%s", status, said, diff)
	}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err != nil || p.boot != strings.TrimSpace(string(boot)) {
		t.Errorf("boot %q, %v", p.boot, err)
	}
	if got := r.read("etc/edited.conf"); got != "of the user\n" {
		t.Errorf("the configuration is %q", got)
	}
	if p, status, said := r.patch(); status != 0 || len(p.packages) > 0 {
		t.Errorf("again: status %d, %s, packages %v", status, said, p.packages)
	}
}

// lock holds a lock of the package manager as another process would: a lock belongs to a process, so
// the test's own lock keeps apt out.
func (r *aptRoot) lock(name string) (release func()) {
	r.t.Helper()
	file, err := os.OpenFile(filepath.Join(r.dir, name), os.O_CREATE|os.O_RDWR, 0o640)
	if err == nil {
		err = syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return func() { file.Close() }
}
