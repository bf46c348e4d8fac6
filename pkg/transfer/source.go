package transfer

import (
	"context"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// Source provides images and files. Its readers need not check digests: the caller checks them.
type Source interface {
	// Root returns the descriptor of the manifest or index to which the image's name refers.
	Root(ctx context.Context, image artifacts.Image) (v1.Descriptor, error)
	// Manifest reads a manifest or an index of the image.
	Manifest(ctx context.Context, image artifacts.Image, d v1.Descriptor) ([]byte, error)
	// Blob opens a layer or a configuration of the image.
	Blob(ctx context.Context, image artifacts.Image, d v1.Descriptor) (io.ReadCloser, error)
	// File opens a file and returns its size in bytes; -1: unknown.
	File(ctx context.Context, file artifacts.File) (io.ReadCloser, int64, error)
}
