package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
)

// Scrub reads the plain files below a depot's directory dir whose checksums are stored. It calls
// report for each file whose content has changed without a write, or which cannot be read. It
// returns how many files it has read, and how many have no stored checksum for their present
// content: users have copied these into the folder or changed them there, and no client has asked
// for their checksums since.
func Scrub(ctx context.Context, dir string, report func(path, why string)) (read, unknown int, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, 0, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), Dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(at), Dir+"/")
		held, ok := keptDigest(root, name)
		info, statErr := root.Stat(at)
		if statErr != nil {
			return statErr
		}
		if !ok || held.Stamp != disk.StampOf(info) {
			unknown++
			return ctx.Err()
		}
		read++
		f, err := root.Open(at)
		if err != nil {
			return err
		}
		defer f.Close()
		sum, err := hashStable(f, info)
		switch {
		case err != nil:
			report(name, "it cannot be read: "+err.Error())
		case sum != held.SHA256:
			report(name, fmt.Sprintf("its content has changed: it has sha256 %s now, not %s", sum, held.SHA256))
		}
		return ctx.Err()
	})
	return read, unknown, err
}

// damagedDir holds damaged plain files under their paths below Dir.
const damagedDir = "damaged"

// SetAside moves a damaged plain file from Dir to damagedDir, below the depot's directory dir, and
// removes its stored checksum. The file is then absent. No depot may serve dir meanwhile.
func SetAside(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	to := path.Join(damagedDir, name)
	if err := root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	if err := root.Rename(path.Join(Dir, name), to); err != nil {
		return err
	}
	return disk.RemoveIfThere(root, sidecar(name))
}

// keptDigest reads the stored digest of a file; it returns false if there is none.
func keptDigest(root *os.Root, name string) (kept, bool) {
	data, err := root.ReadFile(sidecar(name))
	if err != nil {
		return kept{}, false
	}
	var k kept
	return k, json.Unmarshal(data, &k) == nil
}
