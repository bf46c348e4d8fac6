package artifacts

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The test runs as the owner of the folder, or as root, who gives the files away.
func TestTheDepotOwnsWhatTheLabStores(t *testing.T) {
	folder, owner := t.TempDir(), os.Geteuid()
	if owner == 0 {
		owner = 65534
		if err := os.Chown(folder, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, "files", "apt", "jq.deb")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := give(folder, path); err != nil {
		t.Fatal(err)
	}
	for ; path != folder; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(info.Sys().(*syscall.Stat_t).Uid); got != owner {
			t.Errorf("%s belongs to the user %d, want %d", path, got, owner)
		}
	}
	if err := give(folder, filepath.Dir(folder)); err == nil {
		t.Error("a file elsewhere is given away")
	}
}
