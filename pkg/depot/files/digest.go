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

// defaultRacy is how old a file's last change must be before its digest is
// kept: two changes within one tick of the file system's clock look alike.
const defaultRacy = 2 * time.Second

// kept is a digest with the state of the file that it belongs to.
type kept struct {
	disk.Stamp
	SHA256 string `json:"sha256"`
}

// digests computes the SHA-256 of stored files, once each: results are kept
// beside the files, never among them.
type digests struct {
	files, cache *os.Root
	racy         time.Duration
	log          *slog.Logger
	flight       singleflight.Group
}

// Of returns the SHA-256 of a file in hexadecimal.
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

// keepSum says, without reading it, whether a file was stored with this SHA-256
// and was not written to since.
func (d *digests) keepSum(name, sum string) bool {
	info, err := d.files.Stat(name)
	if err != nil {
		return false
	}
	held, ok := d.load(name)
	return ok && held.SHA256 == sum && held.Stamp == disk.StampOf(info)
}

// hashStable refuses a file that somebody writes to while it is read.
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
		return "", errors.New("the file changed while it was read: ask again when it is complete")
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

// keep is a saving of time only, so a failure is reported and not passed on.
func (d *digests) keep(name string, k kept) {
	data, err := json.Marshal(k)
	if err == nil {
		err = disk.WriteFile(d.cache, sidecar(name), data, 0o644)
	}
	if err != nil {
		d.log.Warn("checksum cannot be kept and will be computed again", "path", name, "error", err)
	}
}

// sidecar has its own ending so that the entry of a file never stands where
// another file's folder has to be.
func sidecar(name string) string { return path.Join(digestsDir, name+".digest.json") }
