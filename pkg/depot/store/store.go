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

// maxThreads bounds how many files are open at once for the registry.
const maxThreads = 100

// Store is one place for blobs, manifests and tags.
type Store struct {
	Driver storagedriver.StorageDriver
	// Registry is the namespace of all repositories.
	Registry distribution.Namespace
	// dir is the directory of a store on disk, empty for any other.
	dir string
	// referring keeps changes of one manifest that refers to another apart.
	referring [64]sync.Mutex
	// indexing lets one caller at a time look through an older repository.
	indexing singleflight.Group
}

// Wrap puts something between a store and its driver.
type Wrap func(storagedriver.StorageDriver) storagedriver.StorageDriver

// OnDisk keeps everything below dir.
func OnDisk(ctx context.Context, dir string, wraps ...Wrap) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	driver := filesystem.New(filesystem.DriverParameters{RootDirectory: abs, MaxThreads: maxThreads})
	wrapped := storagedriver.StorageDriver(newDurable(driver, abs))
	for _, wrap := range wraps {
		wrapped = wrap(wrapped)
	}
	return open(ctx, wrapped, abs)
}

// Over keeps everything where a driver of the distribution project does.
func Over(ctx context.Context, driver storagedriver.StorageDriver) (*Store, error) {
	return open(ctx, driver, "")
}

func open(ctx context.Context, driver storagedriver.StorageDriver, dir string) (*Store, error) {
	driver = replacer{driver}
	registry, err := storage.NewRegistry(ctx, driver, storage.EnableDelete)
	if err != nil {
		return nil, err
	}
	s := &Store{Driver: driver, dir: dir}
	s.Registry, err = s.Hook(registry)
	return s, err
}

// Dir is the directory of a store on disk, and empty for any other.
func (s *Store) Dir() string { return s.dir }

// Repository opens a repository by its name.
func (s *Store) Repository(ctx context.Context, name string) (distribution.Repository, error) {
	named, err := reference.WithName(name)
	if err != nil {
		return nil, fmt.Errorf("repository %q: %w", name, err)
	}
	return s.Registry.Repository(ctx, named)
}

// Blob returns the size of a blob that is in the store, whichever repository
// it belongs to. A missing one is distribution.ErrBlobUnknown.
func (s *Store) Blob(ctx context.Context, d digest.Digest) (int64, error) {
	desc, err := s.Registry.BlobStatter().Stat(ctx, d)
	return desc.Size, err
}

// Linked describes a blob that belongs to a repository. One that does not is
// distribution.ErrBlobUnknown, even if another repository has it.
func (s *Store) Linked(ctx context.Context, repository string, d digest.Digest) (v1.Descriptor, error) {
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return repo.Blobs(ctx).Stat(ctx, d)
}

// Open reads a blob. On a disk it is an *os.File, so that the kernel can copy
// it to a socket.
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

// Link makes a blob that is in the store part of a repository, without a copy.
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
		err = errors.New("the registry began an upload instead")
	}
	return fmt.Errorf("link %s into %s: %w", desc.Digest, repository, err)
}

// known tells the registry that a blob is there and may be linked.
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

// BlobPath is where a driver keeps a blob's bytes.
func BlobPath(d digest.Digest) string {
	return fmt.Sprintf("%s/%s/%s/%s/data", BlobsPath, d.Algorithm(), d.Encoded()[:2], d.Encoded())
}

// Paths of the distribution project's layout, which does not export them.
const (
	BlobsPath        = "/docker/registry/v2/blobs"
	RepositoriesPath = "/docker/registry/v2/repositories"
)

// IsAbsent says whether an error means that something is not in the store.
func IsAbsent(err error) bool {
	var path storagedriver.PathNotFoundError
	var tag distribution.ErrTagUnknown
	var manifest distribution.ErrManifestUnknown
	var revision distribution.ErrManifestUnknownRevision
	var repository distribution.ErrRepositoryUnknown
	return errors.Is(err, distribution.ErrBlobUnknown) || errors.Is(err, distribution.ErrBlobUploadUnknown) ||
		errors.As(err, &path) || errors.As(err, &tag) || errors.As(err, &manifest) || errors.As(err, &revision) || errors.As(err, &repository)
}
