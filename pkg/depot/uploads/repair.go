package uploads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// repairFrom repairs an artifact from a body whose beginning c has compared already. It takes the
// bytes that were equal from the stored content. They are followed by the piece of the body that
// differs, and then by rest, which is the part of the body that has not been read yet.
func (s *Service) repairFrom(ctx context.Context, a Stored, c *comparison, rest io.Reader) (protocol.Record, error) {
	f, err := s.Content(ctx, a.Record.Ref(), a)
	if err != nil {
		return a.Record, err
	}
	defer f.Close()
	return s.repair(ctx, a.Record, io.MultiReader(io.LimitReader(f, c.agreed), bytes.NewReader(c.differs), rest))
}

// repair stores the content of an artifact again. It works like a normal upload, but the artifact
// exists already. If the upload ends early, the artifact does not change.
func (s *Service) repair(ctx context.Context, rec protocol.Record, body io.Reader) (protocol.Record, error) {
	ctx = context.WithoutCancel(ctx)
	ref := rec.Ref()
	s.log.Warn("the stored content is damaged, and this upload replaces it: check the disk, and run \"depot scrub\"", "artifact", ref.String(), "sha256", rec.SHA256)
	if err := s.quota.ReserveFor(key(ref), rec.ImageLength, limits.Account{Backup: ref.IsBackup()}); err != nil {
		return rec, err
	}
	p, err := s.begin(ctx, rec, true)
	if err != nil {
		s.quota.Release(key(ref))
		return rec, err
	}
	p.Record.Created = rec.Created
	next, err := s.Append(ctx, p, 0, body)
	if err == nil && next < rec.ImageLength {
		err = ErrBody
	}
	if err != nil {
		return rec, errors.Join(err, s.Abort(ctx, p))
	}
	done, err := s.Finish(ctx, p)
	if err != nil {
		return done, errors.Join(err, s.giveUp(ctx, ref))
	}
	return done, nil
}

// giveUp removes what a failed repair has left. No client could resume the repair, since the
// artifact exists. giveUp reads the note of the upload again, since Finish may have changed or
// removed it.
func (s *Service) giveUp(ctx context.Context, ref protocol.Ref) error {
	p, open, err := s.pending(ctx, ref)
	if err != nil || !open {
		return err
	}
	return s.Abort(ctx, p)
}

// restoreImages restores the images of an archive. Their blobs may be damaged or deleted while the
// archive itself is intact.
func (s *Service) restoreImages(ctx context.Context, a Stored) error {
	ctx = context.WithoutCancel(ctx) // all bytes are here: continue even if the client disconnects
	_, err := s.importImages(ctx, a.Record, a.Record.Ref().Repository(), a.Digest, true)
	return err
}

// importImages imports the images of an archive into the registry. It does nothing for an artifact
// of another kind. again means that the images were imported before.
func (s *Service) importImages(ctx context.Context, rec protocol.Record, repository string, d digest.Digest, again bool) ([]string, error) {
	ref := rec.Ref()
	if ref.Kind != protocol.ContainerImages || s.importer == nil {
		return nil, nil
	}
	load := s.importer.Import
	if again {
		load = s.importer.Restore
	}
	images, err := load(ctx, ref.Name, rec.ImageLength, func() (io.ReadSeekCloser, error) {
		f, err := s.store.Open(ctx, repository, d)
		if err != nil {
			return nil, err
		}
		return stoppable{f, ctx}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("import images of %s: %w", ref, err)
	}
	return images, nil
}
