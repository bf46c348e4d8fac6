package archive

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/distribution/distribution/v3"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// Importer brings archives into a store, within the limits of a gate.
type Importer struct {
	Store *store.Store
	Quota *limits.Quota
}

// Import reads an archive of size bytes that is called name, and returns the
// references of its images, without a registry. What is wrong with the archive
// is a Refusal, and leaves no image behind.
func (i *Importer) Import(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return i.load(ctx, name, size, open, i.tag)
}

// Restore is Import of an archive that was imported before. A tag that exists
// stays: it may have been moved to a newer image since.
func (i *Importer) Restore(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return i.load(ctx, name, size, open, i.tagAbsent)
}

func (i *Importer) load(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error), tag tagger) ([]string, error) {
	r := &reader{open: open, packed: size, most: i.Quota.Limits().MaxUpload}
	p, err := r.plan(name)
	if err != nil {
		return nil, err
	}
	if err := i.drop(ctx, p.blobs); err != nil {
		return nil, err
	}
	key := "images " + rand.Text()
	if err := i.makeRoom(key, p.blobs); err != nil {
		return nil, err
	}
	defer i.Quota.Release(key)
	if err := i.addBlobs(ctx, r, key, p.blobs); err != nil {
		return nil, err
	}
	return i.publish(ctx, p.images, tag)
}

// drop takes off the list what the store has already. That is read, since a
// disk may have damaged it: reading takes less than writing it again, and no room.
func (i *Importer) drop(ctx context.Context, blobs map[string]blob) error {
	for name, b := range blobs {
		intact, err := i.Store.Intact(ctx, b.digest, b.size)
		if err != nil {
			return err
		}
		if intact {
			delete(blobs, name)
		}
	}
	return nil
}

// makeRoom has room for all of them held.
func (i *Importer) makeRoom(key string, blobs map[string]blob) error {
	var total int64
	for _, b := range blobs {
		total += b.size
	}
	if err := i.Quota.Hold(key, total); err != nil {
		return fmt.Errorf("its images need room of their own: %w", err)
	}
	return nil
}

func (i *Importer) addBlobs(ctx context.Context, r *reader, key string, blobs map[string]blob) error {
	if len(blobs) == 0 {
		return nil
	}
	return r.each(func(name string, _ int64, body io.Reader) error {
		b, ok := blobs[name]
		if !ok {
			return nil
		}
		delete(blobs, name)
		buffered := bufio.NewReader(body)
		_, err := i.Store.AddKnown(ctx, protocol.Staging, buffered, b.digest, b.size)
		i.Quota.Less(key, b.size) // it is held, or not coming
		var other *store.OtherContentError
		if errors.As(err, &other) {
			return refuse("%s has sha256 %s, not %s as its manifest says", name, other.Computed.Encoded(), b.digest.Encoded())
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return broken(err)
		}
		return err
	})
}

// tagger points a reference to a manifest that is stored.
type tagger func(context.Context, ref, manifest) error

// publish makes the manifests pullable by digest, and when all of them are,
// sets the tags.
func (i *Importer) publish(ctx context.Context, images []image, tag tagger) ([]string, error) {
	var u undo
	for _, img := range images {
		for _, r := range img.refs {
			if err := i.putManifests(ctx, r, img, &u); err != nil {
				return nil, errors.Join(err, u.run(ctx, i.Store))
			}
		}
	}
	var names []string
	for _, img := range images {
		for _, r := range img.refs {
			if err := tag(ctx, r, img.manifests[len(img.manifests)-1]); err != nil {
				return nil, err
			}
			names = append(names, r.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (i *Importer) putManifests(ctx context.Context, r ref, img image, u *undo) error {
	repo, err := i.Store.Repository(ctx, r.repository)
	if err != nil {
		return refuse("image name %s: %v", r, err)
	}
	if err := u.note(ctx, i.Store, r.repository); err != nil {
		return err
	}
	manifests, err := repo.Manifests(ctx)
	if err != nil {
		return err
	}
	for _, m := range img.manifests {
		there, err := manifests.Exists(ctx, m.digest)
		if err != nil {
			return err
		}
		if !there {
			u.manifests = append(u.manifests, made{r.repository, m.digest})
		}
		// One that is there may be damaged.
		if err := i.putManifest(ctx, manifests, r, m); err != nil {
			return err
		}
	}
	return nil
}

func (i *Importer) putManifest(ctx context.Context, manifests distribution.ManifestService, r ref, m manifest) error {
	for _, b := range m.blobs {
		if err := i.Store.Link(ctx, r.repository, b); err != nil {
			return err
		}
	}
	parsed, _, err := distribution.UnmarshalManifest(m.mediaType, m.body)
	if err != nil {
		return refuse("manifest %s: %v", m.digest, err)
	}
	_, err = manifests.Put(ctx, parsed)
	var wrong distribution.ErrManifestVerification
	if errors.As(err, &wrong) {
		return refuse("manifest %s: %v", m.digest, err)
	}
	return err
}

func (i *Importer) tagAbsent(ctx context.Context, r ref, m manifest) error {
	repo, err := i.Store.Repository(ctx, r.repository)
	if err != nil {
		return err
	}
	_, err = repo.Tags(ctx).Get(ctx, r.tag)
	var unknown distribution.ErrTagUnknown
	if errors.As(err, &unknown) {
		return i.tag(ctx, r, m)
	}
	if err != nil {
		return fmt.Errorf("read tag %s: %w", r, err)
	}
	return nil
}

func (i *Importer) tag(ctx context.Context, r ref, m manifest) error {
	repo, err := i.Store.Repository(ctx, r.repository)
	if err != nil {
		return err
	}
	desc := v1.Descriptor{MediaType: m.mediaType, Digest: m.digest, Size: int64(len(m.body))}
	if err := repo.Tags(ctx).Tag(ctx, r.tag, desc); err != nil {
		return fmt.Errorf("tag %s: %w", r, err)
	}
	return nil
}
