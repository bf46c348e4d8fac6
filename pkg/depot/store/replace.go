package store

import (
	"context"
	"strings"

	"github.com/distribution/distribution/v3"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// If the path of a blob already has a file, the registry library drops the new content, whatever
// the file contains. Damaged content would therefore survive every new upload. The driver in this
// file hides such a file from the library, so that the new content replaces the file atomically: by
// a rename on a disk, or by a copy within S3. That costs as much as the first upload, and the old
// file is not read.

type replaceKey struct{}

// replacing returns a context that allows the replacement of blobs whose paths begin with below.
func replacing(ctx context.Context, below string) context.Context {
	return context.WithValue(ctx, replaceKey{}, below)
}

// replacer is a driver that reports a blob as absent if the context allows its replacement. It pins
// the blobs that it writes, see pinning.
type replacer struct{ storagedriver.StorageDriver }

func (d replacer) PutContent(ctx context.Context, at string, content []byte) error {
	pinWritten(ctx, at)
	return d.StorageDriver.PutContent(ctx, at, content)
}

func (d replacer) Move(ctx context.Context, from, to string) error {
	pinWritten(ctx, to)
	return d.StorageDriver.Move(ctx, from, to)
}

func (d replacer) Stat(ctx context.Context, at string) (storagedriver.FileInfo, error) {
	if below, ok := ctx.Value(replaceKey{}).(string); ok && strings.HasPrefix(at, below) {
		return nil, storagedriver.PathNotFoundError{Path: at, DriverName: d.Name()}
	}
	return d.StorageDriver.Stat(ctx, at)
}

// blobs is the blob store of a repository, in which new content replaces damaged content.
type blobs struct {
	distribution.BlobStore
	store *Store
}

func (b blobs) Put(ctx context.Context, mediaType string, content []byte) (v1.Descriptor, error) {
	d := digest.FromBytes(content)
	defer b.store.Pin(d)()
	return b.BlobStore.Put(replacing(ctx, BlobPath(d)), mediaType, content)
}

// Create pins a blob that is taken from another repository while it is looked up and linked.
func (b blobs) Create(ctx context.Context, options ...distribution.BlobCreateOption) (distribution.BlobWriter, error) {
	var chosen distribution.CreateOptions
	for _, option := range options {
		if err := option.Apply(&chosen); err != nil {
			return nil, err
		}
	}
	if chosen.Mount.ShouldMount {
		defer b.store.Pin(chosen.Mount.From.Digest())()
	}
	return b.committing(b.BlobStore.Create(ctx, options...))
}

func (b blobs) Resume(ctx context.Context, id string) (distribution.BlobWriter, error) {
	return b.committing(b.BlobStore.Resume(ctx, id))
}

func (b blobs) committing(w distribution.BlobWriter, err error) (distribution.BlobWriter, error) {
	if err != nil {
		return nil, err
	}
	return blobWriter{w, b.store}, nil
}

type blobWriter struct {
	distribution.BlobWriter
	store *Store
}

// Commit lets the upload replace whichever blob has its content. It cannot allow one path only,
// because the path contains one digest of the blob, and desc may name the blob by another digest.
// For the same reason, the driver pins the blob when it writes the path. The pin lasts until the
// repository has a link to the blob.
func (w blobWriter) Commit(ctx context.Context, desc v1.Descriptor) (v1.Descriptor, error) {
	ctx, release := w.store.pinning(ctx)
	defer release()
	return w.BlobWriter.Commit(replacing(ctx, BlobsPath+"/"), desc)
}
