package store

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/opencontainers/go-digest"
)

// Intact reports whether a blob exists with the given size and with content that matches its
// sha256. It reads the whole blob. A blob that the disk cannot read is not intact. An error means
// that the storage cannot be reached.
func (s *Store) Intact(ctx context.Context, d digest.Digest, size int64) (bool, error) {
	have, err := s.Blob(ctx, d)
	if IsAbsent(err) || err == nil && have != size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f, err := s.Driver.Reader(ctx, BlobPath(d), 0)
	if err != nil {
		return false, unlessDamage(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, reader{ctx, f}, make([]byte, readAhead)); err != nil {
		return false, unlessDamage(err)
	}
	return digest.NewDigest(digest.SHA256, h) == d, nil
}

// unlessDamage returns nil for an error that means damaged or missing content, and any other error
// unchanged.
func unlessDamage(err error) error {
	if IsAbsent(err) || isDamage(err) {
		return nil
	}
	return err
}

// reader stops reading when its context ends. A file alone would not notice that.
type reader struct {
	ctx context.Context //nolint:containedctx // the purpose of this type
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
