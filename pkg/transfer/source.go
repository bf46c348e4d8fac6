package transfer

import (
	"context"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// Source is where images and files come from. Its readers need not check digests; whoever reads them does.
type Source interface {
	// Root tells what an image's name stands for: a manifest or an index.
	Root(ctx context.Context, image artifacts.Image) (v1.Descriptor, error)
	// Manifest reads a manifest or an index of the image.
	Manifest(ctx context.Context, image artifacts.Image, d v1.Descriptor) ([]byte, error)
	// Blob opens a layer or a configuration of the image.
	Blob(ctx context.Context, image artifacts.Image, d v1.Descriptor) (io.ReadCloser, error)
	// File opens a file and tells its size, -1 if that is not known.
	File(ctx context.Context, file artifacts.File) (io.ReadCloser, int64, error)
}
