package artifacts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// give makes the owner of a folder the owner of a file in it, and of the folders between them: the depot runs as a user of
// its own and must be able to write beside a file that the lab has put there.
func give(folder, path string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if rel, err := filepath.Rel(folder, path); err != nil || !filepath.IsLocal(rel) || !ok {
		return errors.Join(err, fmt.Errorf("%s is not in %s", path, folder))
	}
	for ; path != folder; path = filepath.Dir(path) {
		if err := os.Lchown(path, int(owner.Uid), -1); err != nil {
			return err
		}
	}
	return nil
}
