package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/distribution/distribution/v3"
	"github.com/distribution/distribution/v3/registry/storage"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/singleflight"
)

// maxThreads is the largest number of files that are open at the same time for the registry.
const maxThreads = 100

// Store stores blobs, manifests and tags.
type Store struct {
	Driver storagedriver.StorageDriver
	// Registry is the namespace of all repositories.
	Registry distribution.Namespace
	// dir is the directory of a store on disk, and durable the driver that syncs it; both are empty
	// for another store.
	dir     string
	durable *durable
	// referring has locks that serialize the changes of a manifest that refers to another.
	referring [64]sync.Mutex
	// indexing ensures that only one caller at a time creates the links of an older repository.
	indexing singleflight.Group
	pins     pins
	// Waiting is called before an operation waits for a removal of a collection. It is for tests.
	Waiting func()
}

// Wrap wraps the driver of a store in another driver.
type Wrap func(storagedriver.StorageDriver) storagedriver.StorageDriver

// OnDisk returns a store that keeps everything below dir.
func OnDisk(ctx context.Context, dir string, wraps ...Wrap) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	driver := filesystem.New(filesystem.DriverParameters{RootDirectory: abs, MaxThreads: maxThreads})
	durable := newDurable(driver, abs)
	wrapped := storagedriver.StorageDriver(durable)
	for _, wrap := range wraps {
		wrapped = wrap(wrapped)
	}
	s, err := open(ctx, wrapped, abs)
	if err == nil {
		s.durable = durable
	}
	return s, err
}

// Over returns a store that uses a driver of the distribution project.
func Over(ctx context.Context, driver storagedriver.StorageDriver) (*Store, error) {
	return open(ctx, driver, "")
}

func open(ctx context.Context, driver storagedriver.StorageDriver, dir string) (*Store, error) {
	driver = replacer{newNeededStates(driver)}
	registry, err := storage.NewRegistry(ctx, driver, storage.EnableDelete)
	if err != nil {
		return nil, err
	}
	s := &Store{Driver: driver, dir: dir}
	s.Registry, err = s.Hook(registry)
	return s, err
}

// Dir returns the directory of a store on disk, and "" for another store.
func (s *Store) Dir() string { return s.dir }

// Repository returns the repository of that name.
func (s *Store) Repository(ctx context.Context, name string) (distribution.Repository, error) {
	named, err := reference.WithName(name)
	if err != nil {
		return nil, fmt.Errorf("repository %q: %w", name, err)
	}
	return s.Registry.Repository(ctx, named)
}

// Blob returns the size in bytes of a blob in the store, whichever repository it belongs to. The
// error is distribution.ErrBlobUnknown if it is missing.
func (s *Store) Blob(ctx context.Context, d digest.Digest) (int64, error) {
	desc, err := s.Registry.BlobStatter().Stat(ctx, d)
	return desc.Size, err
}

// Linked returns the descriptor of a blob that belongs to a repository. The error is
// distribution.ErrBlobUnknown if the blob does not belong to it, even if another repository has the
// blob.
func (s *Store) Linked(ctx context.Context, repository string, d digest.Digest) (v1.Descriptor, error) {
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return repo.Blobs(ctx).Stat(ctx, d)
}

// Open opens a blob. On a disk, the result is an *os.File, so the kernel can copy it to a socket.
func (s *Store) Open(ctx context.Context, repository string, d digest.Digest) (io.ReadSeekCloser, error) {
	if s.dir != "" {
		f, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(BlobPath(d))))
		if errors.Is(err, os.ErrNotExist) {
			return nil, distribution.ErrBlobUnknown
		}
		return f, err
	}
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return nil, err
	}
	return repo.Blobs(ctx).Open(ctx, d)
}

// Link makes a blob of the store part of a repository, without a copy.
func (s *Store) Link(ctx context.Context, repository string, desc v1.Descriptor) error {
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return err
	}
	_, err = repo.Blobs(ctx).Create(ctx, known{desc})
	var mounted distribution.ErrBlobMounted
	if errors.As(err, &mounted) {
		return nil
	}
	if err == nil {
		err = errors.New("the registry did not link the blob, but began an upload")
	}
	return fmt.Errorf("link %s into %s: %w", desc.Digest, repository, err)
}

// known is an option that tells the registry that a blob exists and may be linked.
type known struct{ v1.Descriptor }

func (k known) Apply(v any) error {
	opts, ok := v.(*distribution.CreateOptions)
	if !ok {
		return fmt.Errorf("unexpected options %T", v)
	}
	named, err := reference.WithName("linked")
	if err != nil {
		return err
	}
	opts.Mount.From, err = reference.WithDigest(named, k.Digest)
	opts.Mount.ShouldMount, opts.Mount.Stat = true, &k.Descriptor
	return err
}

// BlobPath returns the driver's path of a blob's content.
func BlobPath(d digest.Digest) string {
	return fmt.Sprintf("%s/%s/%s/%s/data", BlobsPath, d.Algorithm(), d.Encoded()[:2], d.Encoded())
}

// These are paths of the distribution project's layout, which that project does not export.
const (
	BlobsPath        = "/docker/registry/v2/blobs"
	RepositoriesPath = "/docker/registry/v2/repositories"
)

// IsAbsent reports whether an error means that an object does not exist in the store.
func IsAbsent(err error) bool {
	var path storagedriver.PathNotFoundError
	var tag distribution.ErrTagUnknown
	var manifest distribution.ErrManifestUnknown
	var revision distribution.ErrManifestUnknownRevision
	var repository distribution.ErrRepositoryUnknown
	return errors.Is(err, distribution.ErrBlobUnknown) || errors.Is(err, distribution.ErrBlobUploadUnknown) ||
		errors.As(err, &path) || errors.As(err, &tag) || errors.As(err, &manifest) || errors.As(err, &revision) || errors.As(err, &repository)
}
