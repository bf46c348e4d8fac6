package uploads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// Importer imports the images of an uploaded archive into the registry, and returns their
// references. The error for an archive that it refuses has a method Refused().
type Importer interface {
	Import(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error)
	// Restore restores the missing or damaged images of an archive that was imported before. It
	// moves no tag.
	Restore(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error)
}

// Service stores artifacts. Create it with New, call Inherit before use, and call Recover later.
type Service struct {
	store    *store.Store
	quota    *limits.Quota
	importer Importer
	log      *slog.Logger
	changed  func(protocol.Ref)
	now      func() time.Time
	// segment is the number of bytes after which an upload is made durable and the state of its
	// hash is saved.
	segment int64
	locks   *locks
	// sharing is held for writing while the artifacts of an owner are counted, and for reading while
	// an artifact becomes complete or is removed.
	sharing   sync.RWMutex
	inherited inherited
}

// segmentSize is the default of segment. It limits the number of bytes that must be read again
// after a crash.
const segmentSize = 256 << 20

// New returns a service over a store.
func New(s *store.Store, g *limits.Quota, i Importer, log *slog.Logger) *Service {
	return &Service{store: s, quota: g, importer: i, log: log, changed: func(protocol.Ref) {}, now: time.Now, segment: segmentSize, locks: newLocks()}
}

// OnChange sets the function that is called after an artifact became visible, changed or was removed.
// Call it before Recover and before requests are served.
func (s *Service) OnChange(changed func(protocol.Ref)) { s.changed = changed }

// Create opens an upload for the artifact that the record describes.
func (s *Service) Create(ctx context.Context, rec protocol.Record) (Pending, error) {
	return s.create(ctx, rec, false)
}

// CreateWhole opens an upload whose content comes in a single request. If the depot crashes, this
// upload ends, since the client cannot resume it.
func (s *Service) CreateWhole(ctx context.Context, rec protocol.Record) (Pending, error) {
	return s.create(ctx, rec, true)
}

func (s *Service) create(ctx context.Context, rec protocol.Record, whole bool) (Pending, error) {
	ref := rec.Ref()
	if err := ref.Validate(); err != nil {
		return Pending{}, invalid("%v", err)
	}
	if err := s.free(ctx, ref); err != nil {
		return Pending{}, err
	}
	if err := s.countOwner(ctx, ref.Owner); err != nil {
		return Pending{}, err
	}
	if err := s.quota.ReserveFor(key(ref), rec.ImageLength, accountOf(ref)); err != nil {
		return Pending{}, err
	}
	p, err := s.begin(ctx, rec, whole)
	if err != nil {
		s.quota.Release(key(ref))
	}
	return p, err
}

func (s *Service) begin(ctx context.Context, rec protocol.Record, whole bool) (Pending, error) {
	id, err := s.store.Begin(ctx, protocol.Staging)
	if err != nil {
		return Pending{}, fmt.Errorf("begin upload of %s: %w", rec.Ref(), err)
	}
	s.quota.Bind(key(rec.Ref()), store.UploadFolder(protocol.Staging, id))
	now := s.now().UTC().Truncate(time.Second)
	rec.Created, rec.Updated, rec.Images = &now, &now, nil
	setProgress(&rec, 0, false)
	p := Pending{ID: newID(), Record: rec, Writer: id, Whole: whole, Touched: now}
	return p, s.savePending(ctx, p)
}

// free returns an error if the artifact exists or has an open upload.
func (s *Service) free(ctx context.Context, ref protocol.Ref) error {
	_, open, err := s.pending(ctx, ref)
	if err != nil {
		return err
	}
	if open {
		return fmt.Errorf("an upload of %s is under way, so the artifact %w, or continue the upload", ref, ErrExists)
	}
	_, err = s.store.Load(ctx, ref.Repository(), protocol.Tag)
	if err == nil {
		return fmt.Errorf("%s %w", ref, ErrExists)
	}
	if !store.IsAbsent(err) {
		return err
	}
	return nil
}

func setProgress(r *protocol.Record, offset int64, complete bool) {
	r.ImageOffset, r.UploadComplete = &offset, &complete
}

// Open returns the open upload of an artifact, with its offset in the record.
func (s *Service) Open(ctx context.Context, ref protocol.Ref) (Pending, error) {
	p, ok, err := s.pending(ctx, ref)
	if err != nil {
		return p, err
	}
	if !ok {
		return p, fmt.Errorf("upload of %s: %w", ref, ErrNotFound)
	}
	offset, err := s.offset(ctx, p)
	if err != nil {
		return p, fmt.Errorf("upload of %s: %w", ref, err)
	}
	setProgress(&p.Record, offset, false)
	return p, nil
}

func (s *Service) offset(ctx context.Context, p Pending) (int64, error) {
	if at, running := s.locks.running(key(p.Record.Ref())); running {
		return at, nil
	}
	if p.Digest != "" {
		return p.Record.ImageLength, nil
	}
	return s.store.Offset(ctx, protocol.Staging, p.Writer)
}

// Append appends body to an upload at offset and returns the new offset. If body fails, the bytes
// that were read before are kept. Append does not finish the upload.
func (s *Service) Append(ctx context.Context, p Pending, offset int64, body io.Reader) (int64, error) {
	have := *p.Record.ImageOffset
	if offset != have {
		return have, &OffsetError{Got: offset, Want: have}
	}
	if p.Digest != "" {
		return have, ErrComplete
	}
	ref := p.Record.Ref()
	t, ended := s.locks.transfer(key(ref), have, body)
	defer ended()
	for have < p.Record.ImageLength {
		part := min(s.segment, p.Record.ImageLength-have)
		now, err := s.store.Append(ctx, protocol.Staging, p.Writer, have, io.LimitReader(t, part))
		got := now - have
		have = now
		t.durable.Store(have)
		if err != nil {
			err = fmt.Errorf("upload of %s stopped at %d of %d bytes: %w", ref, have, p.Record.ImageLength, err)
			if have > offset { // a client with a bad connection still makes progress, so its upload must not expire
				err = errors.Join(err, s.touch(ctx, p))
			}
			return have, err
		}
		if got < part {
			break
		}
	}
	return have, s.touch(ctx, p)
}

// touch saves the time at which bytes were received.
func (s *Service) touch(ctx context.Context, p Pending) error {
	p.Touched = s.now().UTC().Truncate(time.Second)
	return s.savePending(ctx, p)
}

// Abort ends an upload and removes its bytes.
func (s *Service) Abort(ctx context.Context, p Pending) error {
	if err := s.store.Abort(ctx, protocol.Staging, p.Writer); err != nil {
		return fmt.Errorf("abort upload of %s: %w", p.Record.Ref(), err)
	}
	if p.Digest != "" {
		return s.discard(ctx, p)
	}
	return s.dropPending(ctx, p)
}

// Delete removes an artifact, its open upload, or both.
func (s *Service) Delete(ctx context.Context, ref protocol.Ref) error {
	p, open, err := s.pending(ctx, ref)
	if err != nil {
		return err
	}
	if open {
		if err := s.Abort(ctx, p); err != nil {
			return err
		}
	}
	err = s.remove(ctx, ref)
	if store.IsAbsent(err) {
		if open {
			return nil
		}
		return fmt.Errorf("%s: %w", ref, ErrNotFound)
	}
	s.changed(ref) // also after an error, which may come after a part of the removal
	return err
}
