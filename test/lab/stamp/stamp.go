package stamp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Store keeps one small file (a stamp) per artifact.
type Store struct {
	Dir string
}

// Do calls create to create the artifact with this name, and then records the key. It does not call
// create if the recorded key is the same and all outputs still exist. It reports whether create
// ran.
func (s Store) Do(name, key string, outputs []string, create func() error) (bool, error) {
	if s.Value(name) == key && exist(outputs) {
		return false, nil
	}
	if err := os.RemoveAll(s.path(name)); err != nil {
		return false, fmt.Errorf("remove stamp of %s: %w", name, err)
	}
	if err := create(); err != nil {
		return true, err
	}
	if !exist(outputs) {
		return true, fmt.Errorf("create %s: the command succeeded, but not all of %v exist", name, outputs)
	}
	return true, s.Set(name, key)
}

// Value returns the value recorded for name, or "" if there is none.
func (s Store) Value(name string) string {
	b, err := os.ReadFile(s.path(name))
	if err != nil {
		return ""
	}
	return string(b)
}

// Set records value for name.
func (s Store) Set(name, value string) error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("create stamp folder: %w", err)
	}
	if err := os.WriteFile(s.path(name)+".new", []byte(value), 0o644); err != nil {
		return fmt.Errorf("write stamp of %s: %w", name, err)
	}
	return os.Rename(s.path(name)+".new", s.path(name))
}

func (s Store) path(name string) string {
	return filepath.Join(s.Dir, strings.NewReplacer("/", "_", ":", "_").Replace(name))
}

// Key returns a short hash of the list of parts.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// FileKey returns a key for a large file without reading it: its path, size and modification time.
// For a missing file it returns a key that no existing file has.
func FileKey(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "absent " + path
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// ContentKey returns a hash of the names and contents of all files and links below the paths. It
// reads every file, so it is meant for small trees.
func ContentKey(paths ...string) (string, error) {
	h := sha256.New()
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			b, err := content(path, d)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s %d:", rel, len(b))
			h.Write(b)
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("hash files below %s: %w", root, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func content(path string, d os.DirEntry) ([]byte, error) {
	if d.Type()&os.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		return []byte(to), err
	}
	return os.ReadFile(path)
}

func exist(paths []string) bool {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return false
		}
	}
	return true
}
