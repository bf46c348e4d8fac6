package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocalTokenIsMadeOnceForItsOwner(t *testing.T) {
	root := t.TempDir()
	first, err := localToken(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 64 {
		t.Errorf("%d characters, want 64", len(first))
	}
	info, err := os.Stat(filepath.Join(root, localTokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
	second, err := localToken(root)
	if err != nil || second != first {
		t.Errorf("the next start has another one (%v)", err)
	}
	other, err := localToken(t.TempDir())
	if err != nil || other == first {
		t.Errorf("another depot has the same (%v)", err)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestLocalTokenThatIsNotSecretIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"empty":            {"\n", 0o600, "too short"},
		"cut":              {"abcd", 0o600, "too short"},
		"others read it":   {strings.Repeat("a", 64), 0o644, "other users may read"},
		"others change it": {strings.Repeat("a", 64), 0o620, "other users may read or change"},
	} {
		root := t.TempDir()
		path := filepath.Join(root, localTokenFile)
		if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		if _, err := localToken(root); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "remove this file") {
			t.Errorf("%s: %v; want an error with %q and the next step", name, err, tt.want)
		}
	}
}
