//go:build integration

package software

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealRPMs installs, updates and removes rpm packages with the real rpm and dnf, of Debian's packages. They work in
// a folder, as no machine of the tests has a system with rpm.
func TestRealRPMs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("rpm changes its root, so run this test as root")
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-B", "testdata/rpm_test.py")
	cmd.Env = append(os.Environ(), "RPM_TOOLS="+rpmTools(t), "RPM_WORK="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
}

// rpmTools returns the root of unpacked packages with rpm, rpmbuild, dnf and createrepo_c. They come from the
// package sources of this machine, and stay in the state folder. dnf is for the python3 of these sources.
func rpmTools(t *testing.T) string {
	t.Helper()
	tools := filepath.Join(os.Getenv("BPA_STATE"), "cache", "rpm-tools")
	if os.Getenv("BPA_STATE") == "" {
		tools = filepath.Join(t.TempDir(), "tools")
	}
	if _, err := os.Stat(filepath.Join(tools, "usr", "bin", "dnf")); err == nil {
		return tools
	}
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir = dir
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s: check the package sources of this machine, and run apt-get update", strings.Join(c.Args, " "), err, out)
		}
		return string(out)
	}
	download := []string{"download", "dnf", "rpm", "createrepo-c"}
	for line := range strings.Lines(run("apt-get", "install", "-s", "--reinstall", "--no-install-recommends", "dnf", "rpm", "createrepo-c")) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "Inst" {
			download = append(download, words[1])
		}
	}
	run("apt-get", download...)
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		t.Fatal(err)
	}
	unpacked := filepath.Join(dir, "tools")
	for _, file := range files {
		run("dpkg-deb", "-x", file, unpacked)
	}
	if err := os.MkdirAll(filepath.Dir(tools), 0o755); err != nil {
		t.Fatal(err)
	}
	run("cp", "-a", unpacked, tools)
	return tools
}
