package garbage

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/distribution/distribution/v3"
	_ "github.com/distribution/distribution/v3/manifest/manifestlist" // registers the manifest formats
	_ "github.com/distribution/distribution/v3/manifest/ocischema"
	_ "github.com/distribution/distribution/v3/manifest/schema2"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// Keeper decides which manifests without a tag stay. Something outside the depot may use such a
// manifest: pods name images by digest.
type Keeper interface {
	Keep(repository string, manifest digest.Digest) bool
}

// All keeps every manifest, so that a collection removes only blobs without references.
type All struct{}

// Keep returns true.
func (All) Keep(string, digest.Digest) bool { return true }

// Listed keeps the listed manifests, in any repository.
type Listed map[digest.Digest]bool

// Keep reports whether the manifest is listed.
func (l Listed) Keep(_ string, d digest.Digest) bool { return l[d] }

// Freed counts the manifests and blobs that a collection has removed, or that a dry run would
// remove. Bytes is the size of the blobs.
type Freed struct {
	Manifests, Blobs int
	Bytes            int64
}

// Collect removes every manifest that does not stay by the invariant of this package, and then
// every unused blob. A dry run only counts them.
func Collect(ctx context.Context, s *store.Store, keep Keeper, dry bool) (Freed, error) {
	c := &collector{store: s, keep: keep, dry: dry, used: map[digest.Digest]bool{}, waiting: map[digest.Digest]bool{}}
	// If an upload is received but not published yet, its content is a blob that no manifest names.
	// It must stay.
	waiting, err := uploads.Received(ctx, s)
	if err != nil {
		return c.freed, err
	}
	for _, d := range waiting {
		c.used[d], c.waiting[d] = true, true
	}
	if err := c.mark(ctx); err != nil {
		return c.freed, err
	}
	if err := c.sweep(ctx); err != nil {
		return c.freed, err
	}
	return c.freed, c.unstage(ctx)
}

type collector struct {
	store *store.Store
	keep  Keeper
	dry   bool
	// used has the blobs and manifests that stay.
	used map[digest.Digest]bool
	// waiting has the digests of the uploads that the depot publishes when it starts again.
	waiting map[digest.Digest]bool
	freed   Freed
}

func (c *collector) mark(ctx context.Context) error {
	all, ok := c.store.Registry.(distribution.RepositoryEnumerator)
	if !ok {
		return errors.New("the registry cannot list its repositories")
	}
	err := all.Enumerate(ctx, func(name string) error {
		if err := c.repository(ctx, name); err != nil {
			return fmt.Errorf("repository %s: %w", name, err)
		}
		return nil
	})
	if store.IsAbsent(err) {
		return nil // nothing was ever pushed
	}
	return err
}

// repository marks those manifests of a repository that stay, and the blobs that these manifests
// need. It removes the other manifests of the repository.
func (c *collector) repository(ctx context.Context, name string) error {
	repo, err := c.store.Repository(ctx, name)
	if err != nil {
		return err
	}
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return err
	}
	tagged, err := c.tagged(ctx, name, repo)
	if err != nil {
		return err
	}
	all, err := c.store.Revisions(ctx, name)
	if err != nil {
		return err
	}
	stay := map[digest.Digest]bool{}
	for _, d := range all {
		if tagged[d] || c.keep.Keep(name, d) {
			if err := c.follow(ctx, repo, manifests, d, stay); err != nil {
				return err
			}
		}
	}
	if err := c.referrers(ctx, repo, manifests, all, stay); err != nil {
		return err
	}
	for _, d := range all {
		if stay[d] {
			continue
		}
		c.freed.Manifests++
		if !c.dry {
			if err := manifests.Delete(ctx, d); err != nil {
				return err
			}
		}
	}
	return c.unlink(ctx, name)
}

func (c *collector) tagged(ctx context.Context, name string, repo distribution.Repository) (map[digest.Digest]bool, error) {
	tags, err := repo.Tags(ctx).All(ctx)
	if err != nil && !store.IsAbsent(err) {
		return nil, err
	}
	found := map[digest.Digest]bool{}
	for _, tag := range tags {
		desc, err := repo.Tags(ctx).Get(ctx, tag)
		if store.IsAbsent(err) {
			continue // its removal was interrupted
		}
		if err != nil {
			return nil, fmt.Errorf("tag %s: %w: scrub the store first", tag, err)
		}
		found[desc.Digest] = true
	}
	return found, nil
}

// follow marks a manifest and everything that it refers to. A missing reference is not an error
// here: the scrubber reports it.
func (c *collector) follow(ctx context.Context, repo distribution.Repository, manifests distribution.ManifestService, d digest.Digest, stay map[digest.Digest]bool) error {
	d, err := c.kept(ctx, repo.Named().Name(), d)
	if err != nil || stay[d] {
		return err
	}
	stay[d], c.used[d] = true, true
	m, err := manifests.Get(ctx, d)
	if err != nil {
		return fmt.Errorf("manifest %s: %w: scrub the store first", d, err)
	}
	for _, part := range m.References() {
		if err := c.use(ctx, repo, part.Digest); err != nil {
			return err
		}
		there, err := manifests.Exists(ctx, part.Digest)
		if err != nil {
			return err
		}
		if there {
			if err := c.follow(ctx, repo, manifests, part.Digest, stay); err != nil {
				return err
			}
		}
	}
	return nil
}

// use marks a blob. The store keeps every blob by its sha256. If a manifest names a blob by another
// hash, the repository has a link from that digest to the sha256, and use follows this link.
func (c *collector) use(ctx context.Context, repo distribution.Repository, d digest.Digest) error {
	c.used[d] = true
	if d.Algorithm() == digest.SHA256 {
		return nil
	}
	kept, err := repo.Blobs(ctx).Stat(ctx, d)
	if err == nil {
		c.used[kept.Digest] = true
	}
	if store.IsAbsent(err) {
		return nil
	}
	return err
}

func (c *collector) sweep(ctx context.Context) error {
	var doomed []string
	err := c.store.Driver.Walk(ctx, store.BlobsPath, func(f storagedriver.FileInfo) error {
		if f.IsDir() || path.Base(f.Path()) != "data" {
			return nil
		}
		place := path.Dir(f.Path())
		if d := digest.NewDigestFromEncoded(digest.SHA256, path.Base(place)); c.used[d] {
			return nil
		}
		c.freed.Blobs++
		c.freed.Bytes += f.Size()
		doomed = append(doomed, place)
		return nil
	})
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, place := range doomed {
		if c.dry {
			break
		}
		if err := c.store.Driver.Delete(ctx, place); err != nil && !store.IsAbsent(err) {
			return fmt.Errorf("remove %s: %w", place, err)
		}
	}
	return nil
}

// unstage removes the staging repository's links to blobs. It keeps the links of uploads that wait
// to be published. All other links point to blobs that are published or gone.
func (c *collector) unstage(ctx context.Context) error {
	if c.dry {
		return nil
	}
	links, err := c.store.Driver.List(ctx, path.Join(store.RepositoriesPath, protocol.Staging, "_layers/sha256"))
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, place := range links {
		if c.waiting[digest.NewDigestFromEncoded(digest.SHA256, path.Base(place))] {
			continue
		}
		if err := c.store.Driver.Delete(ctx, place); err != nil && !store.IsAbsent(err) {
			return err
		}
	}
	return nil
}
