package store

import (
	"context"
	"strings"

	"github.com/distribution/distribution/v3"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// The registry's library drops verified bytes if a file of any content has the
// blob's place already, so damaged content would survive each new upload. To
// the library, such a place is free: the new bytes take it, by a rename on a
// disk, by a copy within S3, both atomic. That costs what the first upload has
// cost, and no reading of what is there.

type replaceKey struct{}

// replacing lets blobs whose paths begin so be replaced.
func replacing(ctx context.Context, below string) context.Context {
	return context.WithValue(ctx, replaceKey{}, below)
}

// replacer is a driver that says of a blob that may be replaced that it is absent.
type replacer struct{ storagedriver.StorageDriver }

func (d replacer) Stat(ctx context.Context, at string) (storagedriver.FileInfo, error) {
	if below, ok := ctx.Value(replaceKey{}).(string); ok && strings.HasPrefix(at, below) {
		return nil, storagedriver.PathNotFoundError{Path: at, DriverName: d.Name()}
	}
	return d.StorageDriver.Stat(ctx, at)
}

// blobs are those of a repository.
type blobs struct{ distribution.BlobStore }

func (b blobs) Put(ctx context.Context, mediaType string, content []byte) (v1.Descriptor, error) {
	return b.BlobStore.Put(replacing(ctx, BlobPath(digest.FromBytes(content))), mediaType, content)
}

func (b blobs) Create(ctx context.Context, options ...distribution.BlobCreateOption) (distribution.BlobWriter, error) {
	return committing(b.BlobStore.Create(ctx, options...))
}

func (b blobs) Resume(ctx context.Context, id string) (distribution.BlobWriter, error) {
	return committing(b.BlobStore.Resume(ctx, id))
}

func committing(w distribution.BlobWriter, err error) (distribution.BlobWriter, error) {
	if err != nil {
		return nil, err
	}
	return blobWriter{w}, nil
}

type blobWriter struct{ distribution.BlobWriter }

// Commit is for any blob: desc may name it by another digest than that of its place.
func (w blobWriter) Commit(ctx context.Context, desc v1.Descriptor) (v1.Descriptor, error) {
	return w.BlobWriter.Commit(replacing(ctx, BlobsPath+"/"), desc)
}
