package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// An upload is stored in a folder of its repository until its digest is known. Its bytes are hashed
// when they arrive, so they need not be read again, see states.go.

// readAhead is the number of bytes that are read from a connection at once.
const readAhead = 256 << 10

// Begin starts an upload and returns its id.
func (s *Store) Begin(ctx context.Context, repository string) (string, error) {
	id, err := s.begin(ctx, repository)
	if err == nil && s.durable != nil {
		err = s.durable.syncUpload(uploadPath(repository, id, dataFile))
	}
	return id, err
}

// begin is like Begin, but a power failure may end the upload as long as it has no bytes.
func (s *Store) begin(ctx context.Context, repository string) (string, error) {
	w, err := s.writer(ctx, repository, "")
	if err != nil {
		return "", err
	}
	return w.ID(), w.Close()
}

func (s *Store) writer(ctx context.Context, repository, id string) (distribution.BlobWriter, error) {
	repo, err := s.Repository(ctx, repository)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return repo.Blobs(ctx).Create(ctx)
	}
	return repo.Blobs(ctx).Resume(ctx, id)
}

// Offset returns the number of stored bytes of an upload. In a bucket, the state of the upload's
// hash may be lost. Append and Digest then fail at this offset, since the bytes cannot be read
// back, and the upload must begin again.
func (s *Store) Offset(ctx context.Context, repository, id string) (int64, error) {
	if s.dir != "" {
		info, err := s.Driver.Stat(ctx, uploadPath(repository, id, dataFile))
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	w, err := s.writer(ctx, repository, id)
	if err != nil {
		return 0, err
	}
	return w.Size(), w.Close()
}

// Append appends the content of r to an upload that has offset bytes. It returns the number of the
// upload's bytes that are durable, even if r fails.
func (s *Store) Append(ctx context.Context, repository, id string, offset int64, r io.Reader) (int64, error) {
	w, err := s.Driver.Writer(ctx, uploadPath(repository, id, dataFile), true)
	if err != nil {
		return offset, err
	}
	if w.Size() != offset {
		return offset, errors.Join(fmt.Errorf("the upload has %d bytes, not %d", w.Size(), offset), w.Close())
	}
	h, err := s.hashAt(ctx, repository, id, offset)
	if err != nil {
		return offset, errors.Join(err, w.Close())
	}
	n, err := io.Copy(io.MultiWriter(w, h), bufio.NewReaderSize(r, readAhead))
	if closeErr := w.Close(); closeErr != nil {
		return offset, errors.Join(err, closeErr)
	}
	if size := w.Size(); size != offset+n { // a bucket has lost a part, so the hash does not match the bytes
		return size, errors.Join(fmt.Errorf("the storage has %d bytes of the upload, not %d", size, offset+n), err)
	}
	return offset + n, errors.Join(err, s.keepState(ctx, repository, id, h, offset, offset+n))
}

// Digest returns the digest of an upload's first offset bytes.
func (s *Store) Digest(ctx context.Context, repository, id string, offset int64) (digest.Digest, error) {
	h, err := s.hashAt(ctx, repository, id, offset)
	if err != nil {
		return "", err
	}
	return digest.NewDigest(digest.SHA256, h), nil
}

// Commit turns an upload into a blob. If the blob exists, Commit replaces it, since it may be
// damaged. Commit may be repeated: if the upload's bytes have become the blob already, Commit links
// the blob and removes the rest of the upload.
func (s *Store) Commit(ctx context.Context, repository, id string, d digest.Digest, size int64) error {
	w, err := s.writer(ctx, repository, id)
	if err == nil && w.Size() == size {
		_, err = w.Commit(ctx, v1.Descriptor{Digest: d})
		return err
	}
	if err == nil {
		err = errors.Join(fmt.Errorf("the upload has %d bytes, not %d", w.Size(), size), w.Close())
	}
	moved, readErr := s.Intact(ctx, d, size)
	if !moved || readErr != nil {
		return errors.Join(err, readErr)
	}
	if err := s.Link(ctx, repository, v1.Descriptor{Digest: d, Size: size}); err != nil {
		return err
	}
	return s.Abort(ctx, repository, id)
}

// Abort removes an upload. It is not an error if the upload does not exist.
func (s *Store) Abort(ctx context.Context, repository, id string) error {
	if s.dir == "" {
		if w, err := s.writer(ctx, repository, id); err == nil {
			return w.Cancel(ctx) // Cancel also frees the parts in S3, which belong to no path yet
		}
	}
	err := s.Driver.Delete(ctx, path.Dir(uploadPath(repository, id, dataFile)))
	if IsAbsent(err) {
		return nil
	}
	return err
}

// OtherContentError means that content does not have the expected digest or size. Computed is its
// digest.
type OtherContentError struct{ Computed digest.Digest }

func (e *OtherContentError) Error() string {
	return "the content does not match: its digest is " + e.Computed.String()
}

// AddKnown stores the content of r as a blob of a repository. If the content does not have the
// digest want and the given size, AddKnown stores nothing and returns an OtherContentError.
func (s *Store) AddKnown(ctx context.Context, repository string, r io.Reader, want digest.Digest, size int64) (v1.Descriptor, error) {
	id, err := s.begin(ctx, repository)
	if err != nil {
		return v1.Descriptor{}, err
	}
	desc := v1.Descriptor{MediaType: "application/octet-stream", Digest: want, Size: size}
	if err := s.addKnown(ctx, repository, id, r, desc); err != nil {
		return v1.Descriptor{}, errors.Join(err, s.Abort(context.WithoutCancel(ctx), repository, id))
	}
	return desc, nil
}

func (s *Store) addKnown(ctx context.Context, repository, id string, r io.Reader, want v1.Descriptor) error {
	size, err := s.Append(ctx, repository, id, 0, r)
	if err != nil {
		return err
	}
	d, err := s.Digest(ctx, repository, id, size)
	if err != nil {
		return err
	}
	if d != want.Digest || size != want.Size {
		return &OtherContentError{d}
	}
	return s.Commit(ctx, repository, id, d, size)
}

// UploadFolder returns the driver's path of the folder of an upload that is not a blob yet.
func UploadFolder(repository, id string) string {
	return path.Join(RepositoriesPath, repository, "_uploads", id)
}

func uploadPath(repository, id, file string) string {
	return path.Join(UploadFolder(repository, id), file)
}
