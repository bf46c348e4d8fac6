package limits

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

const repositories = store.RepositoriesPath + "/"

// stripes is the number of parts into which blobs are divided. The first two hexadecimal digits of
// a blob's digest select its part, as they select its folder in the store.
const stripes = 256

// stripe is locked while blobs in it are written, removed, or counted for the first time. So each
// blob counts once, and counting delays only writers of the same stripe.
type stripe struct {
	sync.Mutex
	counted bool
}

// Over returns a driver that counts the bytes that are written to and removed from driver.
func (c *Usage) Over(driver storagedriver.StorageDriver) storagedriver.StorageDriver {
	c.driver = driver
	return &counting{driver, c}
}

type counting struct {
	storagedriver.StorageDriver
	usage *Usage
}

// blobStripe returns the stripe of a blob's path. It is nil for other paths, and if blobs are not
// counted.
func (c *Usage) blobStripe(at string) *stripe {
	rest, ok := strings.CutPrefix(at, store.BlobsPath+"/")
	parts := strings.Split(rest, "/") // sha256/ab/abcd.../data
	if !c.All || !ok || len(parts) < 3 || len(parts[1]) != 2 {
		return nil
	}
	return &c.stripes[unhex(parts[1][0])<<4|unhex(parts[1][1])]
}

func unhex(b byte) byte {
	if b >= 'a' {
		return (b - 'a' + 10) & 15
	}
	return (b - '0') & 15
}

// Files in the folder of an upload.
const (
	begins  = "startedat" // the first file that is written
	content = "data"      // the bytes of the upload
)

// uploadFolder returns the folder of the upload to which a path belongs. It returns false for a
// path outside of uploads.
func uploadFolder(at string) (string, bool) {
	const uploads = "/_uploads/"
	i := strings.LastIndex(at, uploads)
	if i < 0 || !strings.HasPrefix(at, repositories) {
		return "", false
	}
	id, _, _ := strings.Cut(at[i+len(uploads):], "/")
	return at[:i+len(uploads)] + id, id != ""
}

// changeBlob calls change, which writes or removes blobs at a path, and counts the difference.
func (d *counting) changeBlob(ctx context.Context, s *stripe, at string, change func() error) error {
	s.Lock()
	defer s.Unlock()
	before, err := d.usage.size(ctx, at)
	if err != nil {
		return err
	}
	changeErr := change()
	after, err := d.usage.size(ctx, at)
	if err != nil || !s.counted {
		return changeErr
	}
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	d.usage.blobs += after - before
	return changeErr
}

// size returns the size of a file, or of all files below a folder, in bytes; 0 if it is absent.
func (c *Usage) size(ctx context.Context, at string) (int64, error) {
	info, err := c.driver.Stat(ctx, at)
	if store.IsAbsent(err) {
		return 0, nil
	}
	if err != nil || !info.IsDir() {
		return sizeOf(info), err
	}
	var total int64
	err = c.driver.Walk(ctx, at, func(f storagedriver.FileInfo) error {
		total += sizeOf(f)
		return nil
	})
	if store.IsAbsent(err) {
		err = nil
	}
	return total, err
}

func sizeOf(f storagedriver.FileInfo) int64 {
	if f == nil || f.IsDir() {
		return 0
	}
	return f.Size()
}

func (d *counting) PutContent(ctx context.Context, at string, body []byte) error {
	if s := d.usage.blobStripe(at); s != nil {
		return d.changeBlob(ctx, s, at, func() error { return d.StorageDriver.PutContent(ctx, at, body) })
	}
	if folder, inUpload := uploadFolder(at); inUpload {
		d.usage.touch(folder, path.Base(at) == begins)
	}
	return d.StorageDriver.PutContent(ctx, at, body)
}

// Move turns an upload into a blob: its bytes then count as a blob's.
func (d *counting) Move(ctx context.Context, from, to string) error {
	s := d.usage.blobStripe(to)
	if s == nil {
		return d.landed(from, 0, d.StorageDriver.Move(ctx, from, to))
	}
	s.Lock()
	defer s.Unlock()
	before, err := d.usage.size(ctx, to)
	if err != nil {
		return err
	}
	if err := d.StorageDriver.Move(ctx, from, to); err != nil {
		return err
	}
	after, err := d.usage.size(ctx, to)
	if err != nil || !s.counted {
		after, before = 0, 0
	}
	return d.landed(from, after-before, nil)
}

func (d *counting) landed(from string, change int64, err error) error {
	folder, fromUpload := uploadFolder(from)
	if err != nil {
		return err
	}
	d.usage.mu.Lock()
	defer d.usage.mu.Unlock()
	d.usage.blobs += change
	if fromUpload && path.Base(from) == content {
		d.usage.forget(folder)
	}
	return nil
}

func (d *counting) Delete(ctx context.Context, at string) error {
	if s := d.usage.blobStripe(at); s != nil {
		return d.changeBlob(ctx, s, at, func() error { return d.StorageDriver.Delete(ctx, at) })
	}
	err := d.StorageDriver.Delete(ctx, at)
	if err == nil || store.IsAbsent(err) {
		d.usage.mu.Lock()
		defer d.usage.mu.Unlock()
		d.usage.forget(at)
	}
	return err
}

// forget drops the uploads at or below a path. The caller holds c.mu.
func (c *Usage) forget(at string) {
	if c.listing {
		c.gone = append(c.gone, at)
	}
	if folder, in := uploadFolder(at); in && folder != at {
		return // the path is a file of an upload that continues
	}
	for path := range c.uploads {
		if path == at || strings.HasPrefix(path, at+"/") {
			delete(c.uploads, path)
		}
	}
}

// touch records activity in the folder of an upload. It adds an unknown upload only if begins is
// set, because the registry library also writes to the folders of uploads that have ended.
func (c *Usage) touch(folder string, begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uploads[folder] == nil && begins {
		c.put(folder, &upload{})
	}
	if u := c.uploads[folder]; u != nil {
		u.touched = time.Now()
	}
}

func (c *Usage) open(folder string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.uploads[folder]
	if u == nil {
		u = &upload{}
		c.put(folder, u)
	}
	u.bytes, u.inherited, u.touched = size, false, time.Now()
	u.writers++
}
