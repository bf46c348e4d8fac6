package store

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/opencontainers/go-digest"
)

// Intact says whether a blob is there with the size and the content that its
// sha256 names. It reads the whole blob. One that the disk cannot read is not
// intact; the error is about a storage out of reach.
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

// unlessDamage passes over what is wrong with the bytes, or with their being there.
func unlessDamage(err error) error {
	if IsAbsent(err) || isDamage(err) {
		return nil
	}
	return err
}

// reader stops with a context, which a file on a disk does not notice.
type reader struct {
	ctx context.Context //nolint:containedctx // it is what this type is for
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
