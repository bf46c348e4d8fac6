//go:build integration

package supervisor

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A component runs as its user from the first start on, also if root has written all its files before. Needs root.
func TestAComponentRunsAsItsUser(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	dir := t.TempDir()
	write := func(parts ...string) string {
		path := filepath.Join(append([]string{dir}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("of root"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine, key, other := write("data", "deep", "file"), write("key"), write("other")
	if err := os.Symlink(other, filepath.Join(dir, "data", "link")); err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(open, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	s := New(t.TempDir())
	t.Cleanup(s.Stop)
	script := fmt.Sprintf("cat %s %s >/dev/null && ! cat %s && ! touch %s && exec sleep 100", mine, key, other, key)
	c := Component{
		Name: "shell", Args: []string{"/bin/sh", "-c", script}, User: "nobody",
		Owns: []string{filepath.Join(dir, "data"), filepath.Join(dir, "new")}, Reads: []string{key},
	}
	if err := s.Apply(Plan{Components: []Component{c}}); err != nil {
		t.Fatal(err)
	}
	limit, tick := time.After(10*time.Second), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for ids := ""; ids == ""; {
		select {
		case <-limit:
			log, _ := os.ReadFile(filepath.Join(s.logDir, "shell.log"))
			t.Fatalf("the script does not reach its end: %+v\n%s", s.Status(), log)
		case <-tick.C:
		}
		st := s.Status()[0]
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", st.PID)); string(name) != "sleep\n" {
			continue
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", st.PID))
		for _, line := range strings.Split(string(status), "\n") {
			ids += map[string]string{"Uid": line, "Gro": line}[line[:min(3, len(line))]]
		}
		if want := fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", uid); !strings.HasPrefix(ids, want) || strings.TrimSpace(strings.TrimPrefix(ids, want+"Groups:")) != "" {
			t.Errorf("the component runs as %q, want %q and no other group", ids, want)
		}
	}
	for path, want := range map[string][3]int{
		mine: {uid, 0, 0o600}, key: {0, gid, 0o640}, other: {0, 0, 0o600}, filepath.Join(dir, "new"): {uid, 0, 0o700},
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		if got := [3]int{int(stat.Uid), int(stat.Gid), int(info.Mode().Perm())}; got != want {
			t.Errorf("%s has user, group and mode %v, want %v", path, got, want)
		}
	}
}

func TestAComponentWhoseUserDoesNotExistSaysSo(t *testing.T) {
	if _, err := (Component{Name: "etcd", User: "bpa-nobody"}).account(); err == nil || !strings.Contains(err.Error(), "run `machine up`, which creates it") {
		t.Errorf("a user that does not exist: %v", err)
	}
}
