package store

import (
	"context"
	"errors"
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
type durable struct {
	storagedriver.StorageDriver
	root string

	mu sync.Mutex
	// synced has the directories whose entry in their parent directory is on disk.
	synced map[string]struct{}
}

func newDurable(driver storagedriver.StorageDriver, root string) *durable {
	return &durable{StorageDriver: driver, root: root, synced: map[string]struct{}{}}
}

// PutContent returns when the content survives a power failure.
func (d *durable) PutContent(ctx context.Context, path string, content []byte) error {
	if err := d.StorageDriver.PutContent(ctx, path, content); err != nil {
		return err
	}
	return d.syncAbove(path) // the driver has synced the directory of the file
}

// Writer syncs the name of a new file. The returned writer syncs the bytes in Close and Commit.
func (d *durable) Writer(ctx context.Context, path string, appends bool) (storagedriver.FileWriter, error) {
	w, err := d.StorageDriver.Writer(ctx, path, appends)
	if err != nil || appends {
		return w, err
	}
	if err := d.syncEntry(path); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Move returns when the new name survives a power failure.
func (d *durable) Move(ctx context.Context, from, to string) error {
	if err := d.StorageDriver.Move(ctx, from, to); err != nil {
		return err
	}
	return d.syncEntry(to)
}

// Delete returns when the removal survives a power failure.
func (d *durable) Delete(ctx context.Context, path string) error {
	if err := d.StorageDriver.Delete(ctx, path); err != nil {
		return err
	}
	d.forget(path)
	err := syncDir(filepath.Dir(d.full(path)))
	if errors.Is(err, os.ErrNotExist) {
		return nil // the parent was removed meanwhile
	}
	return err
}

func (d *durable) full(path string) string { return filepath.Join(d.root, filepath.FromSlash(path)) }

func (d *durable) syncEntry(path string) error {
	if err := syncDir(filepath.Dir(d.full(path))); err != nil {
		return err
	}
	return d.syncAbove(path)
}

// syncAbove syncs the entries of those parent directories of path that may be new. It begins with
// the lowest one.
func (d *durable) syncAbove(path string) error {
	for dir := filepath.Dir(d.full(path)); dir != d.root && strings.HasPrefix(dir, d.root); dir = filepath.Dir(dir) {
		if d.isSynced(dir) {
			return nil
		}
		if err := syncDir(filepath.Dir(dir)); err != nil {
			return err
		}
		d.remember(dir)
	}
	return nil
}

func (d *durable) isSynced(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.synced[dir]
	return ok
}

func (d *durable) remember(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.synced) >= maxSynced {
		clear(d.synced)
	}
	d.synced[dir] = struct{}{}
}

// forget removes the directories at or below a deleted path from synced.
func (d *durable) forget(path string) {
	full := d.full(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := range d.synced {
		if dir == full || strings.HasPrefix(dir, full+string(filepath.Separator)) {
			delete(d.synced, dir)
		}
	}
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
