package garbage

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/distribution/distribution/v3"
	_ "github.com/distribution/distribution/v3/manifest/manifestlist" // registers the manifest formats
	_ "github.com/distribution/distribution/v3/manifest/ocischema"
	_ "github.com/distribution/distribution/v3/manifest/schema2"
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

// Options say what a collection removes.
type Options struct {
	Keep Keeper // nil: All
	// DryRun only counts.
	DryRun bool
	// Grace is how long content stays although nothing refers to it: blobs since a client has sent
	// or mounted them, manifests since their push. A client pushes the blobs of an image before its
	// manifest. 0: no client is in the middle of a push, or the push may fail and is repeated.
	Grace time.Duration
	// Held is asked before each removal, and its error ends the collection. It is nil, or reports
	// whether the storage still belongs to this process.
	Held func() error
	// Progress is called from time to time; nil: never.
	Progress func(Result)
}

// Collect removes every manifest that does not stay by the invariant of this package, and then
// every unused blob. A dry run only counts them. An error leaves the rest for the next collection.
// The error is store.ErrCollecting if another collection of this store is running.
func Collect(ctx context.Context, s *store.Store, o Options) (Result, error) {
	run, err := s.Collect()
	if err != nil {
		return Result{}, err
	}
	defer run.End()
	c := &collector{
		Options: o, store: s, run: run, used: map[store.Key]Kind{}, waiting: map[digest.Digest]bool{},
		result: Result{Kinds: map[Kind]Amount{}, Owners: map[string]Amount{}},
	}
	if o.Grace > 0 {
		c.young = time.Now().Add(-o.Grace)
	}
	if c.Keep == nil {
		c.Keep = All{}
	}
	err = c.collect(ctx)
	return c.result, err
}

type collector struct {
	Options
	store *store.Store
	run   *store.Collection
	// young is the time since which a link protects its content; zero: none does.
	young time.Time
	// used has the blobs and manifests that stay, with the first kind of content that needs them.
	// This is the only data of a collection that grows with the store: 8 bytes and the overhead of
	// a map for each blob.
	used map[store.Key]Kind
	// waiting has the digests of the uploads that are received but not published.
	waiting map[digest.Digest]bool
	result  Result
}

func (c *collector) collect(ctx context.Context) error {
	// If an upload is received but not published yet, its content is a blob that no manifest names.
	// It must stay. These uploads are read first: an upload that has ended before this was
	// published before the repositories are read, and any later one has pins.
	waiting, err := uploads.Received(ctx, c.store)
	if err != nil {
		return err
	}
	for _, d := range waiting {
		c.waiting[d] = true
		c.use(d, Recent)
	}
	err = c.store.EachRepository(ctx, func(name string) error {
		if err := c.repository(ctx, name); err != nil {
			return fmt.Errorf("repository %s: %w", name, err)
		}
		c.result.Repositories++
		c.progress()
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.sweep(ctx); err != nil {
		return err
	}
	return c.unstage(ctx)
}

func (c *collector) progress() {
	if c.Progress != nil {
		c.Progress(c.result.copy())
	}
}

// remove calls remove unless an operation relies on the content, and reports whether the content is
// gone, or would be in a dry run.
func (c *collector) remove(k store.Key, remove func() error) (bool, error) {
	if c.DryRun {
		return !c.run.Pinned(k), nil
	}
	return c.run.Remove(k, func() error {
		if c.Held != nil {
			if err := c.Held(); err != nil {
				return err
			}
		}
		return remove()
	})
}

// use marks content as used.
func (c *collector) use(d digest.Digest, kind Kind) {
	if d.Validate() != nil {
		return
	}
	k := store.KeyOf(d)
	if had, ok := c.used[k]; !ok || had == Recent {
		c.used[k] = kind
	}
}

// repository is the part of a repository that a collection reads.
type repository struct {
	distribution.Repository
	name      string
	manifests distribution.ManifestService
	kind      Kind
	owner     string // of an artifact
	// stay has the manifests that stay.
	stay map[digest.Digest]bool
}

func (c *collector) open(ctx context.Context, name string) (*repository, error) {
	repo, err := c.store.Repository(ctx, name)
	if err != nil {
		return nil, err
	}
	manifests, err := repo.Manifests(ctx)
	r := &repository{Repository: repo, name: name, manifests: manifests, kind: Images, stay: map[digest.Digest]bool{}}
	if ref, ok := protocol.ParseRepository(name); ok {
		r.kind, r.owner = kindOf(ref), ref.Owner
	}
	return r, err
}

// repository marks those manifests of a repository that stay, and the blobs that these manifests
// need. It removes the other manifests of the repository.
func (c *collector) repository(ctx context.Context, name string) error {
	repo, err := c.open(ctx, name)
	if err != nil {
		return err
	}
	if err := c.youngLinks(ctx, repo); err != nil {
		return err
	}
	// The tags are read before the manifests. A manifest that is stored between the two is pinned.
	tagged, err := c.tagged(ctx, repo)
	if err != nil {
		return err
	}
	all, err := c.store.Revisions(ctx, name)
	if err != nil {
		return err
	}
	for _, d := range all {
		stays := tagged[d] || c.Keep.Keep(name, d)
		if !stays {
			if stays, err = c.recent(ctx, name, d); err != nil {
				return err
			}
		}
		if stays {
			if err := c.follow(ctx, repo, d); err != nil {
				return err
			}
		}
	}
	if err := c.referrers(ctx, repo, all); err != nil {
		return err
	}
	for _, d := range all {
		if err := c.drop(ctx, repo, d); err != nil {
			return err
		}
	}
	return c.unlink(ctx, name)
}

// drop removes a manifest that does not stay. If an operation has begun to rely on the manifest
// meanwhile, the manifest stays with everything that it needs.
func (c *collector) drop(ctx context.Context, repo *repository, d digest.Digest) error {
	if repo.stay[d] {
		return nil
	}
	gone, err := c.remove(store.KeyOf(d), func() error {
		err := repo.manifests.Delete(ctx, d)
		if store.IsAbsent(err) {
			return nil // a client has deleted it
		}
		return err
	})
	if err != nil {
		return err
	}
	if gone {
		c.result.Freed.Manifests++
		return nil
	}
	return c.follow(ctx, repo, d)
}

// recent reports whether a manifest without a tag was pushed within the grace, or is one that a
// client has just read: a cluster may use it that was not asked when the list of images was made.
func (c *collector) recent(ctx context.Context, name string, d digest.Digest) (bool, error) {
	if c.run.Asked(store.KeyOf(d)) {
		return true, nil
	}
	if c.young.IsZero() {
		return false, nil
	}
	link, err := c.store.Driver.Stat(ctx, store.RevisionPath(name, d))
	if store.IsAbsent(err) {
		return false, nil
	}
	return err == nil && link.ModTime().After(c.young), err
}

func (c *collector) tagged(ctx context.Context, repo *repository) (map[digest.Digest]bool, error) {
	tags, err := repo.Tags(ctx).All(ctx)
	if err != nil && !store.IsAbsent(err) {
		return nil, err
	}
	found := map[digest.Digest]bool{}
	for _, tag := range tags {
		desc, err := repo.Tags(ctx).Get(ctx, tag)
		if store.IsAbsent(err) {
			continue // it was removed, or its removal was interrupted
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
func (c *collector) follow(ctx context.Context, repo *repository, d digest.Digest) error {
	d, err := c.kept(ctx, repo.name, d)
	if err != nil || repo.stay[d] {
		return err
	}
	repo.stay[d] = true
	c.use(d, repo.kind)
	m, err := repo.manifests.Get(ctx, d)
	if err != nil {
		if _, linkErr := c.store.Kept(ctx, repo.name, d); store.IsAbsent(linkErr) {
			return nil // a client has deleted or replaced it
		}
		return fmt.Errorf("manifest %s: %w: scrub the store first", d, err)
	}
	if repo.owner != "" {
		c.result.Owners[repo.owner] = c.result.Owners[repo.owner].plus(1, sizeOf(m))
	}
	for _, part := range m.References() {
		if err := c.usePart(ctx, repo, part.Digest); err != nil {
			return err
		}
		there, err := repo.manifests.Exists(ctx, part.Digest)
		if err != nil {
			return err
		}
		if there {
			if err := c.follow(ctx, repo, part.Digest); err != nil {
				return err
			}
		}
	}
	return nil
}

func sizeOf(m distribution.Manifest) (bytes int64) {
	for _, part := range m.References() {
		bytes += part.Size
	}
	return bytes
}

// usePart marks a blob. The store keeps every blob by its sha256. If a manifest names a blob by
// another hash, the repository has a link from that digest to the sha256, and usePart follows this
// link.
func (c *collector) usePart(ctx context.Context, repo *repository, d digest.Digest) error {
	c.use(d, repo.kind)
	if d.Algorithm() == digest.SHA256 {
		return nil
	}
	kept, err := repo.Blobs(ctx).Stat(ctx, d)
	if err == nil {
		c.use(kept.Digest, repo.kind)
	}
	if store.IsAbsent(err) {
		return nil
	}
	return err
}

// unstage removes the staging repository's links to blobs. It keeps the links of uploads that wait
// to be published, and of those that are under way. All other links point to blobs that are
// published or gone.
func (c *collector) unstage(ctx context.Context) error {
	if c.DryRun {
		return nil
	}
	links, err := c.store.Driver.List(ctx, path.Join(store.RepositoriesPath, protocol.Staging, "_layers/sha256"))
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	for _, place := range links {
		d := digest.NewDigestFromEncoded(digest.SHA256, path.Base(place))
		if d.Validate() != nil || c.waiting[d] {
			continue
		}
		_, err := c.remove(store.KeyOf(d), func() error { return c.delete(ctx, place) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) delete(ctx context.Context, place string) error {
	if err := c.store.Driver.Delete(ctx, place); err != nil && !store.IsAbsent(err) {
		return fmt.Errorf("remove %s: %w", place, err)
	}
	return nil
}
