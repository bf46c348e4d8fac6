package uploads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// Same handles a client that sends an artifact although the depot already has the artifact, or an
// open upload of it. If body has the same content as the stored artifact, Same reads body to its
// end and returns the artifact's record. If the artifact has other content, or is not complete,
// Same returns the error that the caller has passed in exists. In this case, Same reads no more of
// body than needed.
//
// The checksum in the record does not show that the stored content is still intact. Same therefore
// compares the stored content with body while body arrives. That needs no space, and hardly more
// time than receiving body. If the stored content is damaged, body replaces it.
func (s *Service) Same(ctx context.Context, rec protocol.Record, body io.Reader, exists error) (protocol.Record, error) {
	stored, err := s.Stored(ctx, rec.Ref())
	if errors.Is(err, ErrNotFound) {
		return rec, exists
	}
	if err != nil {
		return rec, err
	}
	held := stored.Record
	if rec.ImageLength != held.ImageLength || rec.SHA256 != "" && rec.SHA256 != held.SHA256 {
		return rec, exists
	}
	t, ended := s.locks.transfer(key(rec.Ref()), -1, body)
	defer ended()
	held, err = s.compare(ctx, stored, t)
	var other *DigestError
	if errors.As(err, &other) && rec.SHA256 == "" {
		return rec, exists
	}
	if err != nil {
		return rec, fmt.Errorf("compare with %s: %w", rec.Ref(), err)
	}
	return held, nil
}

// compare compares the stored content of an artifact with body, and repairs the content from body
// if it is damaged. It then returns the artifact's record. The error is a DigestError if body does
// not have the record's checksum.
func (s *Service) compare(ctx context.Context, a Stored, body io.Reader) (protocol.Record, error) {
	rec := a.Record
	size, err := s.store.Blob(ctx, a.Digest)
	if store.IsAbsent(err) || err == nil && size != rec.ImageLength {
		return s.repair(ctx, rec, body)
	}
	if err != nil {
		return rec, err
	}
	f, err := s.Content(ctx, rec.Ref(), a)
	if err != nil {
		return rec, err
	}
	defer f.Close()
	c := &comparison{hash: sha256.New(), stored: f}
	_, err = io.Copy(c, struct{ io.Reader }{body})
	switch {
	case errors.Is(err, errDiffers):
		return s.differing(ctx, a, c, body)
	case err != nil:
		return rec, err
	case c.agreed < rec.ImageLength:
		return rec, ErrBody
	}
	if err := otherDigest(rec, c); err != nil {
		return rec, err // the client sent exactly the stored bytes, but they do not have the record's checksum: both are damaged alike
	}
	return rec, s.restoreImages(ctx, a)
}

// differing handles a body that differs from the stored content: it checks which of the two is
// wrong. rest is the part of the body that has not been read yet.
func (s *Service) differing(ctx context.Context, a Stored, c *comparison, rest io.Reader) (protocol.Record, error) {
	rec := a.Record
	intact, err := s.store.Intact(ctx, a.Digest, rec.ImageLength)
	if err != nil {
		return rec, err
	}
	if !intact {
		return s.repairFrom(ctx, a, c, rest)
	}
	n, err := io.Copy(c.hash, io.MultiReader(bytes.NewReader(c.differs), rest))
	if err != nil {
		return rec, err
	}
	if c.agreed+n < rec.ImageLength {
		return rec, ErrBody
	}
	return rec, otherDigest(rec, c)
}

func otherDigest(rec protocol.Record, c *comparison) error {
	if came := hex.EncodeToString(c.hash.Sum(nil)); came != rec.SHA256 {
		return &DigestError{Given: rec.SHA256, Computed: came}
	}
	return nil
}

var errDiffers = errors.New("the stored bytes differ")

// comparison is a writer that accepts bytes while they equal the stored ones.
type comparison struct {
	hash   hash.Hash // of the received bytes
	stored io.Reader
	buffer []byte
	// agreed is the number of equal bytes, and differs is the piece after them.
	agreed  int64
	differs []byte
}

func (c *comparison) Write(p []byte) (int, error) {
	if len(c.buffer) < len(p) {
		c.buffer = make([]byte, len(p))
	}
	if _, err := io.ReadFull(c.stored, c.buffer[:len(p)]); err != nil || !bytes.Equal(p, c.buffer[:len(p)]) {
		c.differs = bytes.Clone(p)
		return 0, errDiffers
	}
	c.agreed += int64(len(p))
	return c.hash.Write(p)
}
