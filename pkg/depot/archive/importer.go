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

// Importer imports archives into Store. It reserves their space in Quota first.
type Importer struct {
	Store *store.Store
	Quota *limits.Quota
}

// Import imports an archive of size bytes. name is the archive's own name. If the archive gives
// only a tag for an image, Import makes the image's name from name. Import returns the references
// of the images, without a registry. An error in the archive is a Refusal, and leaves no image
// behind.
func (i *Importer) Import(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return i.load(ctx, name, size, open, i.tag)
}

// Restore does the same as Import for an archive that was imported before. It does not change a tag
// that exists, since that tag may have been moved to a newer image.
func (i *Importer) Restore(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return i.load(ctx, name, size, open, i.tagAbsent)
}

func (i *Importer) load(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error), tag tagger) ([]string, error) {
	r := &reader{open: open, packed: size, most: i.Quota.Limits().MaxUpload}
	p, err := r.plan(name)
	if err != nil {
		return nil, err
	}
	defer i.Store.Pin(p.digests()...)() // also the blobs that are here already must stay until a tag needs them
	if err := i.dropIntact(ctx, p.blobs); err != nil {
		return nil, err
	}
	key := "images " + rand.Text()
	if err := i.reserve(key, p.blobs); err != nil {
		return nil, err
	}
	defer i.Quota.Release(key)
	if err := i.addBlobs(ctx, r, key, p.blobs); err != nil {
		return nil, err
	}
	return i.publish(ctx, p.images, tag)
}

// dropIntact removes from the list the blobs that the store already has undamaged. It reads these
// blobs, since a disk may have damaged them: reading is faster than writing them again, and needs
// no space.
func (i *Importer) dropIntact(ctx context.Context, blobs map[string]blob) error {
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

// reserve reserves space in the quota for all blobs, under key.
func (i *Importer) reserve(key string, blobs map[string]blob) error {
	var total int64
	for _, b := range blobs {
		total += b.size
	}
	if err := i.Quota.Hold(key, total); err != nil {
		return fmt.Errorf("not enough space for the images of the archive: %w", err)
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
		i.Quota.Less(key, b.size) // the blob no longer needs its reservation: it is stored now, or will not be stored
		var other *store.OtherContentError
		if errors.As(err, &other) {
			return refuse("%s has sha256 %s, but its manifest says %s", name, other.Computed.Encoded(), b.digest.Encoded())
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return broken(err)
		}
		return err
	})
}

// tagger points a reference to a stored manifest.
type tagger func(context.Context, ref, manifest) error

// publish stores the manifests of all images, so that clients can pull them by digest, and then
// sets the tags. It returns the references.
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
		// An existing manifest may be damaged, so it is written again.
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
