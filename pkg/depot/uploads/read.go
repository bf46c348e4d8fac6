package uploads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// Stored is a complete artifact.
type Stored struct {
	Record protocol.Record
	Digest digest.Digest
	// Upload is the id of the upload that the artifact came from.
	Upload string
}

// Stored returns a complete artifact, or ErrNotFound.
func (s *Service) Stored(ctx context.Context, ref protocol.Ref) (Stored, error) {
	doc, err := s.store.Load(ctx, ref.Repository(), protocol.Tag)
	if store.IsAbsent(err) {
		return Stored{}, fmt.Errorf("%s: %w", ref, ErrNotFound)
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read %s: %w", ref, err)
	}
	var rec protocol.Record
	if err := json.Unmarshal(doc.Config, &rec); err != nil {
		return Stored{}, &store.DamagedError{What: "record of " + ref.String(), Err: err}
	}
	if n := len(doc.Layers); n != 1 {
		return Stored{}, &store.DamagedError{What: fmt.Sprintf("manifest %s of %s", doc.Digest, ref), Err: fmt.Errorf("it has %d layers, not one", n)}
	}
	return Stored{rec, doc.Layers[0].Digest, doc.Layers[0].Annotations[annotationUpload]}, nil
}

// Record returns the record of an artifact, complete or not.
func (s *Service) Record(ctx context.Context, ref protocol.Ref) (protocol.Record, error) {
	stored, err := s.Stored(ctx, ref)
	if !errors.Is(err, ErrNotFound) {
		return stored.Record, err
	}
	p, openErr := s.Open(ctx, ref)
	if openErr == nil {
		return p.Record, nil
	}
	// The upload may have ended between the two reads. Its artifact is visible before its note is removed.
	stored, err = s.Stored(ctx, ref)
	if !errors.Is(err, ErrNotFound) {
		return stored.Record, err
	}
	if errors.Is(openErr, ErrNotFound) {
		return protocol.Record{}, fmt.Errorf("%s: %w", ref, ErrNotFound)
	}
	return p.Record, openErr
}

// Content opens the content of a complete artifact.
func (s *Service) Content(ctx context.Context, ref protocol.Ref, a Stored) (io.ReadSeekCloser, error) {
	f, err := s.store.Open(ctx, ref.Repository(), a.Digest)
	if err != nil {
		return nil, fmt.Errorf("read content of %s: %w", ref, err)
	}
	return f, nil
}

// Update replaces the description and the type of an artifact. If the artifact is not complete,
// Update also replaces the announced digest. Nothing else can change.
func (s *Service) Update(ctx context.Context, rec protocol.Record) (protocol.Record, error) {
	ref := rec.Ref()
	p, open, err := s.pending(ctx, ref)
	if err != nil {
		return rec, err
	}
	now := s.now().UTC().Truncate(time.Second)
	if open {
		if err := unchanged(rec, p.Record, p.Digest != ""); err != nil {
			return rec, err
		}
		p.Record.Description, p.Record.Type, p.Record.Updated = rec.Description, rec.Type, &now
		if rec.SHA256 != "" {
			p.Record.SHA256 = rec.SHA256
		}
		if err := s.savePending(ctx, p); err != nil {
			return rec, err
		}
		return s.Record(ctx, ref)
	}
	stored, err := s.Stored(ctx, ref)
	if err != nil {
		return rec, err
	}
	if err := unchanged(rec, stored.Record, true); err != nil {
		return rec, err
	}
	stored.Record.Description, stored.Record.Type, stored.Record.Updated = rec.Description, rec.Type, &now
	return stored.Record, s.save(ctx, stored.Record, stored.Digest, stored.Upload)
}

func unchanged(next, held protocol.Record, complete bool) error {
	if next.ImageLength != held.ImageLength {
		return invalid("image_length is %d and cannot become %d: delete the artifact and upload it again", held.ImageLength, next.ImageLength)
	}
	if complete && next.SHA256 != "" && next.SHA256 != held.SHA256 {
		return &DigestError{Given: next.SHA256, Computed: held.SHA256}
	}
	return nil
}
