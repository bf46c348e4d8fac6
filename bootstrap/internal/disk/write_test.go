package disk

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilesAreReplaced: a file is never written in place, a failure leaves the old one, and nothing else is left.
func TestFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sa.key")
	if err := WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path) // sees what was there, however the file is replaced
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := WriteFile(path, []byte("new, and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	old := make([]byte, 100)
	if n, _ := reader.Read(old); string(old[:n]) != "old" {
		t.Errorf("the file was written in place: a reader of the old one sees %q", old[:n])
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != "new, and longer" {
		t.Errorf("the file has %q (%v)", now, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "taken"), []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left: %v (%v)", entries, err)
	}
}
