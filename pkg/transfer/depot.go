package transfer

import (
	"context"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
)

// FromDepot returns a source that reads from a depot.
func FromDepot(d *client.Depot) Source { return depotSource{d} }

type depotSource struct{ *client.Depot }

func (s depotSource) Root(ctx context.Context, image artifacts.Image) (v1.Descriptor, error) {
	place, err := image.Place()
	if err != nil {
		return v1.Descriptor{}, err
	}
	d, err := s.Describe(ctx, place)
	if err != nil {
		return v1.Descriptor{}, err
	}
	if d == nil {
		return v1.Descriptor{}, fmt.Errorf("the depot %s has no %s", s.URL(), place)
	}
	return *d, nil
}

func (s depotSource) Manifest(ctx context.Context, image artifacts.Image, d v1.Descriptor) ([]byte, error) {
	place, err := image.Place()
	if err != nil {
		return nil, err
	}
	return s.GetManifest(ctx, place.Repository, d.Digest)
}

func (s depotSource) Blob(ctx context.Context, image artifacts.Image, d v1.Descriptor) (io.ReadCloser, error) {
	place, err := image.Place()
	if err != nil {
		return nil, err
	}
	return s.GetBlob(ctx, place.Repository, d.Digest)
}

func (s depotSource) File(ctx context.Context, file artifacts.File) (io.ReadCloser, int64, error) {
	return s.GetFile(ctx, file.Path)
}
