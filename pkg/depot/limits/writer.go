package limits

import (
	"context"
	"path"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

func (d *counting) Writer(ctx context.Context, at string, appends bool) (storagedriver.FileWriter, error) {
	w, err := d.StorageDriver.Writer(ctx, at, appends)
	folder, inUpload := uploadFolder(at)
	if err != nil || !inUpload || path.Base(at) != content {
		return w, err
	}
	d.usage.open(folder, w.Size())
	return &writer{FileWriter: w, usage: d.usage, folder: folder}, nil
}

// writer counts the bytes of an upload as they are written.
type writer struct {
	storagedriver.FileWriter
	usage  *Usage
	folder string
	closed bool
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.FileWriter.Write(p)
	w.add(int64(n))
	return n, err
}

func (w *writer) add(n int64) {
	w.usage.mu.Lock()
	defer w.usage.mu.Unlock()
	if u := w.usage.uploads[w.folder]; u != nil {
		u.bytes += n
		u.touched = time.Now()
	}
}

func (w *writer) Cancel(ctx context.Context) error {
	err := w.FileWriter.Cancel(ctx)
	if err == nil {
		w.add(-w.Size())
	}
	w.done()
	return err
}

func (w *writer) Close() error {
	w.done()
	return w.FileWriter.Close()
}

func (w *writer) done() {
	if w.closed {
		return
	}
	w.closed = true
	w.usage.mu.Lock()
	defer w.usage.mu.Unlock()
	if u := w.usage.uploads[w.folder]; u != nil {
		u.writers--
	}
}
