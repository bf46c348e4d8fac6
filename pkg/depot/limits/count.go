package limits

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

const (
	// recount is the interval between two counts of plain files: users may copy files directly
	// into their folder.
	recount = time.Hour
	// retry is the pause after a count that failed.
	retry = time.Minute
)

// Run counts the open uploads once. If All is set, it also counts blobs and plain files. Then it
// counts the plain files again every hour until ctx ends, because users may change them without the
// depot.
func (c *Usage) Run(ctx context.Context, log *slog.Logger) {
	started := time.Now()
	for !c.Counted() {
		if err := c.Count(ctx); err == nil {
			if held, _ := c.Held(nil); c.All {
				log.Info("counted what the depot holds", "bytes", held, "took", time.Since(started).Round(time.Millisecond).String())
			}
		} else if !c.again(ctx, log, retry, err) {
			return
		}
	}
	for c.All && c.again(ctx, log, recount, nil) {
		if err := c.CountFiles(ctx); err != nil && ctx.Err() == nil {
			log.Error("the depot cannot count its plain files: it tries again later", "error", err)
		}
	}
}

// again logs err, if any, waits for pause, and reports whether Run continues.
func (c *Usage) again(ctx context.Context, log *slog.Logger, pause time.Duration, err error) bool {
	if err != nil && ctx.Err() == nil {
		log.Error("the depot cannot count its content, so the quota ignores uncounted content: the depot tries again later", "error", err)
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// Count counts the content that was stored before this process. It may run at any time, also again
// after an error. Until it has ended, content that it has not reached counts as 0 bytes.
func (c *Usage) Count(ctx context.Context) error {
	if err := c.findUploads(ctx); err != nil {
		return fmt.Errorf("find uploads: %w", err)
	}
	if c.All {
		for i := range c.stripes {
			if err := c.countStripe(ctx, i); err != nil {
				return fmt.Errorf("count blobs: %w", err)
			}
		}
		if err := c.CountFiles(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted = true
	return nil
}

func (c *Usage) countStripe(ctx context.Context, i int) error {
	s := &c.stripes[i]
	s.Lock()
	defer s.Unlock()
	if s.counted {
		return ctx.Err()
	}
	kinds, err := c.driver.List(ctx, store.BlobsPath)
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	var total int64
	for _, kind := range kinds {
		size, err := c.size(ctx, path.Join(kind, fmt.Sprintf("%02x", i)))
		if err != nil {
			return err
		}
		total += size
	}
	s.counted = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blobs += total
	return ctx.Err()
}

// findUploads finds the upload folders of earlier processes.
func (c *Usage) findUploads(ctx context.Context) error {
	c.setListing(true)
	defer c.setListing(false)
	err := c.driver.Walk(ctx, store.RepositoriesPath, func(f storagedriver.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Base(f.Path())
		folder, inUpload := uploadFolder(f.Path())
		switch {
		case inUpload && !f.IsDir() && (name == begins || name == content):
			c.found(folder, name, f)
		case f.IsDir() && (name == "_layers" || name == "_manifests" || name == "hashstates"):
			return storagedriver.ErrSkipDir
		}
		return nil
	})
	if store.IsAbsent(err) {
		return nil
	}
	return err
}

func (c *Usage) setListing(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listing, c.gone = on, nil
}

func (c *Usage) found(folder, name string, f storagedriver.FileInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.gone {
		if folder == at || strings.HasPrefix(folder, at+"/") {
			return
		}
	}
	u := c.uploads[folder]
	if u == nil {
		u = &upload{inherited: true, touched: f.ModTime()}
		c.put(folder, u)
	}
	if name == content && u.inherited {
		u.bytes, u.touched = f.Size(), f.ModTime()
	}
}

// idleLimit is how long a push must be idle before MakeWay may remove it.
const idleLimit = time.Hour

// MakeWay removes the push that has been idle longest, if it has been idle for at least idleLimit,
// and reports whether it removed one. Such pushes remain from clients that were killed: these
// clients start a new push and do not continue the old one.
func (c *Usage) MakeWay(ctx context.Context) bool {
	folder, ok := c.oldest()
	if !ok {
		return false
	}
	return (&counting{c.driver, c}).Delete(ctx, folder) == nil
}

// oldest returns the folder of the push that has been idle longest. ok is false if no push has been
// idle for idleLimit.
func (c *Usage) oldest() (folder string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := time.Now().Add(-idleLimit)
	for path, u := range c.uploads {
		if u.writers == 0 && u.touched.Before(limit) && isPush(path) {
			folder, limit = path, u.touched
		}
	}
	return folder, folder != ""
}
