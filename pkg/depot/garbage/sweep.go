package garbage

import (
	"context"
	"fmt"
	"path"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// sweep removes the blobs that are not used. It reads one of 256 folders at a time, so it holds only
// a small part of the list of blobs in memory.
func (c *collector) sweep(ctx context.Context) error {
	for i := range 256 {
		if err := c.sweepFolder(ctx, path.Join(store.BlobsPath, "sha256", fmt.Sprintf("%02x", i))); err != nil {
			return err
		}
		c.progress()
	}
	return nil
}

func (c *collector) sweepFolder(ctx context.Context, folder string) error {
	// sizes has the size of the blob in each folder; -1 for a folder that a killed depot has left
	// without a blob.
	sizes := map[string]int64{}
	err := c.store.Driver.Walk(ctx, folder, func(f storagedriver.FileInfo) error {
		switch {
		case f.IsDir() && path.Dir(f.Path()) == folder:
			if _, ok := sizes[f.Path()]; !ok {
				sizes[f.Path()] = -1
			}
		case !f.IsDir() && path.Base(f.Path()) == "data":
			sizes[path.Dir(f.Path())] = f.Size()
		}
		return ctx.Err()
	})
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for place, size := range sizes {
		if err := c.sweepBlob(ctx, place, size); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (c *collector) sweepBlob(ctx context.Context, place string, size int64) error {
	d := digest.NewDigestFromEncoded(digest.SHA256, path.Base(place))
	if d.Validate() != nil {
		return nil // the scrubber reports it
	}
	k := store.KeyOf(d)
	kind, used := c.used[k]
	if !used && !c.young.IsZero() && c.run.Asked(k) {
		kind, used = Recent, true
	}
	if !used {
		gone, err := c.remove(k, func() error { return c.delete(ctx, place) })
		if err != nil {
			return err
		}
		if gone && size >= 0 {
			c.result.Freed.Blobs++
			c.result.Freed.Bytes += size
		}
		used = !gone
	}
	if size >= 0 {
		c.result.Blobs++
	}
	if used && size >= 0 {
		c.result.Kinds[kind] = c.result.Kinds[kind].plus(1, size)
	}
	return nil
}

// linkTries is how often the links of a repository are read if folders disappear meanwhile.
const linkTries = 5

// youngLinks marks the blobs that clients have sent to a repository, or mounted there, within the
// grace.
func (c *collector) youngLinks(ctx context.Context, repo *repository) error {
	if c.young.IsZero() {
		return nil
	}
	folder := path.Join(store.RepositoriesPath, repo.name, "_layers")
	var err error
	for range linkTries {
		err = c.store.Driver.Walk(ctx, folder, func(f storagedriver.FileInfo) error {
			if f.IsDir() || path.Base(f.Path()) != "link" || !f.ModTime().After(c.young) {
				return ctx.Err()
			}
			return c.youngLink(ctx, f.Path())
		})
		if !store.IsAbsent(err) {
			return err
		}
		if _, gone := c.store.Driver.Stat(ctx, folder); store.IsAbsent(gone) {
			return nil
		}
	}
	return fmt.Errorf("its links change all the time: %w", err)
}

func (c *collector) youngLink(ctx context.Context, at string) error {
	place := path.Dir(at)
	if path.Base(path.Dir(place)) == digest.SHA256.String() {
		c.use(digest.NewDigestFromEncoded(digest.SHA256, path.Base(place)), Recent)
		return nil
	}
	content, err := c.store.Driver.GetContent(ctx, at)
	if store.IsAbsent(err) {
		return nil
	}
	c.use(digest.Digest(content), Recent)
	return err
}
