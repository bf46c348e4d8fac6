package uploads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/artifact"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// Stored is a complete artifact.
type Stored struct {
	Record artifact.Record
	Digest digest.Digest
	// Upload is the id of the upload that it came from.
	Upload string
}

// Stored returns a complete artifact, or ErrNotFound.
func (s *Service) Stored(ctx context.Context, ref artifact.Ref) (Stored, error) {
	doc, err := s.store.Load(ctx, ref.Repository(), artifact.Tag)
	if store.IsAbsent(err) {
		return Stored{}, fmt.Errorf("%s: %w", ref, ErrNotFound)
	}
	if err != nil {
		return Stored{}, fmt.Errorf("read %s: %w", ref, err)
	}
	var rec artifact.Record
	if err := json.Unmarshal(doc.Config, &rec); err != nil {
		return Stored{}, fmt.Errorf("record of %s: %w", ref, err)
	}
	if len(doc.Layers) != 1 {
		return Stored{}, fmt.Errorf("manifest %s of %s has %d layers, not one", doc.Digest, ref, len(doc.Layers))
	}
	return Stored{rec, doc.Layers[0].Digest, doc.Layers[0].Annotations[annotationUpload]}, nil
}

// Record returns what is known of an artifact, complete or not.
func (s *Service) Record(ctx context.Context, ref artifact.Ref) (artifact.Record, error) {
	stored, err := s.Stored(ctx, ref)
	if !errors.Is(err, ErrNotFound) {
		return stored.Record, err
	}
	p, err := s.Open(ctx, ref)
	if errors.Is(err, ErrNotFound) {
		return artifact.Record{}, fmt.Errorf("%s: %w", ref, ErrNotFound)
	}
	return p.Record, err
}

// Content opens the bytes of a complete artifact.
func (s *Service) Content(ctx context.Context, ref artifact.Ref, a Stored) (io.ReadSeekCloser, error) {
	f, err := s.store.Open(ctx, ref.Repository(), a.Digest)
	if err != nil {
		return nil, fmt.Errorf("read content of %s: %w", ref, err)
	}
	return f, nil
}

// Update replaces the description of an artifact, and the announced digest and
// type of one that is not complete. Nothing else can change.
func (s *Service) Update(ctx context.Context, rec artifact.Record) (artifact.Record, error) {
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

func unchanged(next, held artifact.Record, complete bool) error {
	if next.ImageLength != held.ImageLength {
		return invalid("image_length is %d and cannot become %d: delete the artifact and upload it again", held.ImageLength, next.ImageLength)
	}
	if complete && next.SHA256 != "" && next.SHA256 != held.SHA256 {
		return &DigestError{Given: next.SHA256, Computed: held.SHA256}
	}
	return nil
}

// List visits the records of complete artifacts and open uploads below a
// prefix: owner, cluster and kind, each only where the one before is given.
func (s *Service) List(ctx context.Context, owner, cluster string, kind artifact.Kind, visit func(artifact.Record) error) error {
	at := artifact.Artifacts
	depth := 4
	for _, part := range []string{owner, cluster, string(kind)} {
		if part == "" {
			break
		}
		if depth > 2 {
			part = artifact.Escape(part)
		}
		at, depth = path.Join(at, part), depth-1
	}
	if err := s.listStored(ctx, at, depth, visit); err != nil {
		return err
	}
	return s.eachPending(ctx, func(p Pending) error {
		ref := p.Record.Ref()
		if owner != "" && ref.Owner != owner || cluster != "" && ref.Cluster != cluster || kind != "" && ref.Kind != kind {
			return nil
		}
		open, err := s.Open(ctx, ref)
		if errors.Is(err, ErrNotFound) {
			return nil // finished in the meantime
		}
		if err != nil {
			return err
		}
		return visit(open.Record)
	})
}

func (s *Service) listStored(ctx context.Context, at string, depth int, visit func(artifact.Record) error) error {
	if depth == 0 {
		ref, ok := artifact.ParseRepository(at)
		if !ok {
			return nil
		}
		stored, err := s.Stored(ctx, ref)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(stored.Record)
	}
	paths, err := s.store.Driver.List(ctx, path.Join(store.RepositoriesPath, at))
	if err != nil && !store.IsAbsent(err) {
		return err
	}
	slices.Sort(paths)
	for _, p := range paths {
		if name := path.Base(p); !strings.HasPrefix(name, "_") {
			if err := s.listStored(ctx, path.Join(at, name), depth-1, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
