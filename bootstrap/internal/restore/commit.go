package restore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// replaced are the parts of the state that a restore replaces: each new part, and what it replaces. Without a new part,
// the old one is only moved away.
func replaced(l layout.Layout) [][2]string {
	state := l.RestoreDir(unpacked, "state")
	parts := [][2]string{
		{l.RestoreDir(newEtcd), l.Data("etcd")},
		{"", l.Data("applied")}, // says which manifests etcd has
		{filepath.Join(state, "pki"), l.PKI()},
		{filepath.Join(state, "etc"), l.Etc()},
	}
	for _, name := range layout.DepotSecrets() {
		parts = append(parts, [2]string{filepath.Join(state, "depot", name), filepath.Join(l.DepotDir(), name)})
	}
	return append(parts, [2]string{filepath.Join(state, ".bpa-machine"), l.Marker()})
}

// Finish completes a restore that was interrupted while it replaced the state of the machine, and removes what one has
// left that was interrupted before. It does nothing on other machines. Each part is moved once: a new part that is
// there was not moved yet. No program of the machine may run.
func Finish(l layout.Layout) error {
	if _, err := os.Stat(l.RestoreDir(commit)); errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(l.RestoreDir())
	} else if err != nil {
		return err
	}
	for _, part := range replaced(l) {
		if err := replace(l, part[0], part[1]); err != nil {
			return fmt.Errorf("complete the restore: replace %s: %w: run `machine start`, which continues", part[1], err)
		}
	}
	if err := syncAll(l); err != nil {
		return err
	}
	if err := os.Remove(l.RestoreDir(commit)); err != nil {
		return err
	}
	return os.RemoveAll(l.RestoreDir())
}

func replace(l layout.Layout, from, to string) error {
	if from != "" && !exists(from) {
		return nil
	}
	if exists(to) {
		if err := moveAway(l, to); err != nil {
			return err
		}
	}
	if from == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o711); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// moveAway moves a part to the folder of the state before. A file stays in its place too, until a new one replaces it:
// without its mark, the folder would not be known as that of a machine any more.
func moveAway(l layout.Layout, path string) error {
	rel, err := filepath.Rel(l.Root, path)
	if err != nil {
		return err
	}
	old := l.BeforeRestore(rel)
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err != nil || info.IsDir() {
		return errors.Join(err, os.Rename(path, old))
	}
	if err := os.Link(path, old); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// syncAll stores all that was written to the state folder.
func syncAll(l layout.Layout) error {
	folder, err := os.Open(l.Root)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(folder.Fd())), folder.Close())
}
