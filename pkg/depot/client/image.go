package client

import (
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

func (d *Depot) reference(p artifacts.Place) name.Reference {
	repo := d.registry.Repo(p.Repository)
	if p.Tag == "" {
		return repo.Digest(p.Digest)
	}
	return repo.Tag(p.Tag)
}

// Repository returns a repository of the depot, for use with package remote.
func (d *Depot) Repository(path string) name.Repository { return d.registry.Repo(path) }

// Remote returns the options for calls of package remote to this depot.
func (d *Depot) Remote() []remote.Option { return d.options }

// GetManifest downloads a manifest or an index.
func (d *Depot) GetManifest(ctx context.Context, repository string, digest v1.Hash) ([]byte, error) {
	got, err := d.puller.Get(ctx, d.registry.Repo(repository).Digest(digest.String()))
	if err != nil {
		return nil, d.explain(fmt.Errorf("manifest %s of %s: %w", digest, repository, err))
	}
	return got.Manifest, nil
}

// GetBlob opens a layer or a configuration for reading.
func (d *Depot) GetBlob(ctx context.Context, repository string, digest v1.Hash) (io.ReadCloser, error) {
	l, err := d.puller.Layer(ctx, d.registry.Repo(repository).Digest(digest.String()))
	if err != nil {
		return nil, d.explain(fmt.Errorf("blob %s of %s: %w", digest, repository, err))
	}
	return l.Compressed()
}

// PutManifest stores a manifest or an index in the repository of place, under the tag or digest of
// place. The repository must already hold all blobs and manifests that the manifest names.
func (d *Depot) PutManifest(ctx context.Context, place artifacts.Place, mediaType types.MediaType, raw []byte) error {
	if err := d.pusher.Put(ctx, d.reference(place), manifest{raw, mediaType}); err != nil {
		return d.explain(fmt.Errorf("store manifest %s: %w", place, err))
	}
	return nil
}

// manifest is a manifest in the form that package remote needs to store it unchanged.
type manifest struct {
	raw       []byte
	mediaType types.MediaType
}

func (m manifest) RawManifest() ([]byte, error)        { return m.raw, nil }
func (m manifest) MediaType() (types.MediaType, error) { return m.mediaType, nil }
