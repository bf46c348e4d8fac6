package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// maxSynced limits how many directories are remembered as synced, and so the memory for them.
const maxSynced = 1 << 14

// durable adds missing syncs to the file system driver. That driver syncs the files that it writes,
// but not the directories in which it creates or renames them. After a power failure, a synced blob
// could therefore be without a name.
//
// The folder of an upload is synced as late as possible: when the first bytes are acknowledged that
// have not become a blob. A client that sends a blob in one request never needs that, because the
// bytes leave the folder before the answer. Until then, a power failure ends the upload, and the
// client begins it again.
type durable struct {
	storagedriver.StorageDriver
	root string

	mu sync.Mutex
	// synced has the directories whose entry in their parent directory is on disk, and the first
	// files of the uploads that are on disk.
	synced map[string]struct{}
	// fresh has the folders of the uploads that this process began and did not sync.
	fresh map[string]struct{}
}

func newDurable(driver storagedriver.StorageDriver, root string) *durable {
	return &durable{StorageDriver: driver, root: root, synced: map[string]struct{}{}, fresh: map[string]struct{}{}}
}

// PutContent returns when the content survives a power failure, except for the file that begins an
// upload.
func (d *durable) PutContent(ctx context.Context, path string, content []byte) error {
	if isUploadFile(path, startedFile) {
		return d.begin(path, content)
	}
	if err := d.StorageDriver.PutContent(ctx, path, content); err != nil {
		return err
	}
	return d.syncAbove(path) // the driver has synced the directory of the file
}

// Writer returns a writer that syncs the bytes in Close and Commit. Only the bytes of uploads are
// written in this way.
func (d *durable) Writer(ctx context.Context, path string, appends bool) (storagedriver.FileWriter, error) {
	if !isUploadFile(path, dataFile) {
		return nil, fmt.Errorf("%s does not belong to an upload: use PutContent", path)
	}
	return openUpload(d.full(path), appends, func() error { return d.syncUpload(path) })
}

// Move returns when the new name survives a power failure.
func (d *durable) Move(ctx context.Context, from, to string) error {
	if err := d.StorageDriver.Move(ctx, from, to); err != nil {
		return err
	}
	return d.syncEntry(to)
}

// Delete returns when the removal survives a power failure. The folder of an upload that was not
// synced is an exception: if a power failure brings it back, it is an abandoned upload without
// acknowledged bytes, which is removed when it expires.
func (d *durable) Delete(ctx context.Context, path string) error {
	if err := d.StorageDriver.Delete(ctx, path); err != nil {
		return err
	}
	if d.forget(path) {
		return nil
	}
	err := syncFile(filepath.Dir(d.full(path)))
	if errors.Is(err, os.ErrNotExist) {
		return nil // the parent was removed meanwhile
	}
	return err
}

func (d *durable) full(path string) string { return filepath.Join(d.root, filepath.FromSlash(path)) }

func (d *durable) syncEntry(path string) error {
	if err := syncFile(filepath.Dir(d.full(path))); err != nil {
		return err
	}
	return d.syncAbove(path)
}

// syncAbove syncs the entries of those parent directories of path that may be new. It begins with
// the lowest one. The directories count as synced only when all of them are, because another
// goroutine that finds one of them in synced does not look at those above it.
func (d *durable) syncAbove(path string) error {
	var done []string
	for dir := filepath.Dir(d.full(path)); dir != d.root && strings.HasPrefix(dir, d.root) && !d.isSynced(dir); dir = filepath.Dir(dir) {
		if err := syncFile(filepath.Dir(dir)); err != nil {
			return err
		}
		done = append(done, dir)
	}
	d.remember(done)
	return nil
}

func (d *durable) isSynced(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.synced[dir]
	return ok
}

func (d *durable) remember(dirs []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.synced) >= maxSynced {
		clear(d.synced)
	}
	for _, dir := range dirs {
		d.synced[dir] = struct{}{}
		delete(d.fresh, dir)
	}
}

// forget removes the directories at or below a deleted path from synced and fresh. It reports
// whether the path was in fresh.
func (d *durable) forget(path string) (wasFresh bool) {
	full := d.full(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	_, wasFresh = d.fresh[full]
	for _, dirs := range []map[string]struct{}{d.synced, d.fresh} {
		for dir := range dirs {
			if dir == full || strings.HasPrefix(dir, full+string(filepath.Separator)) {
				delete(dirs, dir)
			}
		}
	}
	return wasFresh
}

// syncFile makes the content of a file, or the entries of a directory, durable.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
