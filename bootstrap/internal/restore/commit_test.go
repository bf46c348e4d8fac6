package restore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// content returns the files of a state folder.
func content(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// prepared returns a machine with a new state that is complete, and may replace the old one.
func prepared(t *testing.T) layout.Layout {
	t.Helper()
	l := layout.Layout{Root: t.TempDir()}
	state := l.RestoreDir(unpacked, "state")
	for path, text := range map[string]string{
		l.Data("etcd", "db"): "old", l.Data("applied", "tekton"): "old", l.PKI() + "/sa.key": "old", l.PKI() + "/old.key": "old", l.Etc("x"): "old", l.Marker(): "old",
		l.DepotToken(): "old", l.DepotDir() + "/blob": "kept", l.Data("kubelet", "x"): "kept",
		l.RestoreDir(newEtcd, "db"): "new", state + "/pki/sa.key": "new", state + "/etc/x": "new", state + "/.bpa-machine": "new",
		state + "/depot/local-token": "new", state + "/depot/tls/ca.crt": "new", l.RestoreDir(unpacked, "depot.jsonl"): "new", l.RestoreDir(commit): "",
	} {
		put(t, path, text)
	}
	return l
}

var finished = map[string]string{
	"data/etcd/db": "new", "pki/sa.key": "new", "etc/x": "new", ".bpa-machine": "new", "depot/local-token": "new", "depot/tls/ca.crt": "new",
	"depot/blob": "kept", "data/kubelet/x": "kept",
	"before-restore/data/etcd/db": "old", "before-restore/data/applied/tekton": "old", "before-restore/pki/sa.key": "old", "before-restore/pki/old.key": "old",
	"before-restore/etc/x": "old", "before-restore/depot/local-token": "old", "before-restore/.bpa-machine": "old",
}

// TestAnInterruptedRestoreIsCompleted interrupts the replacement after each move of a part. Whatever was moved, the next
// start completes it, and loses nothing of before.
func TestAnInterruptedRestoreIsCompleted(t *testing.T) {
	parts := len(replaced(layout.Layout{}))
	for done := range parts + 1 {
		for _, half := range []bool{false, true} {
			l := prepared(t)
			all := replaced(l)
			for _, part := range all[:done] {
				if err := replace(l, part[0], part[1]); err != nil {
					t.Fatal(err)
				}
			}
			if half && done < parts && all[done][0] != "" && exists(all[done][0]) && exists(all[done][1]) { // the old part was moved away, and the new one not yet
				if err := moveAway(l, all[done][1]); err != nil {
					t.Fatal(err)
				}
			}
			if !exists(l.Marker()) {
				t.Fatalf("after %d parts, the folder is not that of a machine", done)
			}
			for range 2 { // a second time changes nothing
				if err := Finish(l); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(finished, content(t, l.Root)); diff != "" {
					t.Fatalf("after %d parts, half %t (-want +got):\n%s", done, half, diff)
				}
			}
		}
	}
}

// TestARestoreThatWasInterruptedBeforeIsForgotten: without the file commit, the new state may be incomplete.
func TestARestoreThatWasInterruptedBeforeIsForgotten(t *testing.T) {
	l := prepared(t)
	if err := os.Remove(l.RestoreDir(commit)); err != nil {
		t.Fatal(err)
	}
	if err := Finish(l); err != nil {
		t.Fatal(err)
	}
	for path, text := range content(t, l.Root) {
		if text == "new" {
			t.Errorf("%s is of a restore that was not complete", path)
		}
	}
	if exists(l.RestoreDir()) || !exists(l.Data("applied", "tekton")) {
		t.Error("the folder of the restore is left, or the state has changed")
	}
}
