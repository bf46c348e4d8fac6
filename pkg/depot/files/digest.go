package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
)

// defaultRacy is how old a file's last change must be before its digest is stored. A younger file
// may change again without a new time, because two changes within one tick of the file system's
// clock have the same time.
const defaultRacy = 2 * time.Second

// kept is a stored digest with the stamp of the file to which it belongs.
type kept struct {
	disk.Stamp
	SHA256 string `json:"sha256"`
}

// digests computes the SHA-256 of plain files, once for each version of a file. It stores the
// results in digestsDir, outside of the folder of plain files.
type digests struct {
	files, cache *os.Root
	racy         time.Duration
	log          *slog.Logger
	flight       singleflight.Group
}

// Of returns the SHA-256 of a file in hexadecimal. Parallel calls for one file share one
// computation.
func (d *digests) Of(name string) (string, error) {
	sum, err, _ := d.flight.Do(path.Clean(name), func() (any, error) { return d.of(name) })
	if err != nil {
		return "", err
	}
	return sum.(string), nil
}

func (d *digests) of(name string) (string, error) {
	f, info, err := openFile(d.files, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.IsDir() {
		return "", errNotRegular
	}
	if held, ok := d.load(name); ok && held.Stamp == disk.StampOf(info) {
		return held.SHA256, nil
	}
	started := time.Now()
	sum, err := hashStable(f, info)
	if err != nil {
		return "", fmt.Errorf("checksum %s: %w", name, err)
	}
	if now := disk.StampOf(info); started.Sub(time.Unix(0, now.Changed)) > d.racy {
		d.keep(name, kept{Stamp: now, SHA256: sum})
	}
	return sum, nil
}

// hasSum reports whether the file was stored with this SHA-256 and was not changed since. It does
// not read the file.
func (d *digests) hasSum(name, sum string) bool {
	info, err := d.files.Stat(name)
	if err != nil {
		return false
	}
	held, ok := d.load(name)
	return ok && held.SHA256 == sum && held.Stamp == disk.StampOf(info)
}

// hashStable returns the SHA-256 of a file, or an error if the file changes while it is read.
func hashStable(f *os.File, before fs.FileInfo) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	after, err := f.Stat()
	if err != nil {
		return "", err
	}
	if disk.StampOf(after) != disk.StampOf(before) {
		return "", errors.New("the file changed while it was read: try again when it is complete")
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (d *digests) load(name string) (kept, bool) {
	data, err := d.cache.ReadFile(sidecar(name))
	if err != nil {
		return kept{}, false
	}
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return kept{}, false
	}
	return k, true
}

// keep stores a digest. A failure costs only time, so keep logs it and does not return it.
func (d *digests) keep(name string, k kept) {
	data, err := json.Marshal(k)
	if err == nil {
		err = disk.WriteFile(d.cache, sidecar(name), data, 0o644)
	}
	if err != nil {
		d.log.Warn("checksum cannot be stored: the depot computes it again for the next request", "path", name, "error", err)
	}
}

// sidecar returns the path of a file's stored digest. The suffix is needed if the file "a" is
// removed and then the file "a/b" is stored. Without the suffix, the old digest of "a" would be a
// file at the path where the digest of "a/b" needs a folder.
func sidecar(name string) string { return path.Join(digestsDir, name+".digest.json") }
