package uploads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// recoverPause is the time between two attempts while the storage fails.
const recoverPause = 30 * time.Second

// recoveryWait is how long a request waits for the recovery of an inherited upload that it wants to
// change. The recovery usually ends at once.
const recoveryWait = 500 * time.Millisecond

// inherited has the uploads that an earlier process left and that this process has not recovered
// yet. No request may change such an upload.
type inherited struct {
	mu sync.Mutex
	// waiting maps the key of an artifact to its upload.
	waiting map[string]left
}

type left struct {
	Pending
	// done is closed when the upload is recovered.
	done chan struct{}
}

func (i *inherited) get(key string) (left, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l, ok := i.waiting[key]
	return l, ok
}

func (i *inherited) add(key string, p Pending) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting == nil {
		i.waiting = map[string]left{}
	}
	i.waiting[key] = left{p, make(chan struct{})}
}

func (i *inherited) remove(key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.waiting[key].done)
	delete(i.waiting, key)
}

func (i *inherited) all() []Pending {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]Pending, 0, len(i.waiting))
	for _, l := range i.waiting {
		all = append(all, l.Pending)
	}
	return all
}

// Recovering reports whether an artifact has an upload that an earlier process left and that is not
// recovered yet. Such an upload can be read, but not changed.
func (s *Service) Recovering(ref protocol.Ref) bool {
	_, waiting := s.inherited.get(key(ref))
	return waiting
}

// AwaitRecovery waits up to recoveryWait for the end of a recovery. It returns ErrRecovering if the
// recovery continues.
func (s *Service) AwaitRecovery(ctx context.Context, ref protocol.Ref) error {
	l, waiting := s.inherited.get(key(ref))
	if !waiting {
		return nil
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
	case <-time.After(recoveryWait):
	}
	return ErrRecovering
}

// Inherit registers the uploads that an earlier process left, and reserves their space. It reads
// the small note of each upload, and none of the upload's bytes.
func (s *Service) Inherit(ctx context.Context) error {
	return s.eachPending(ctx, func(p Pending) error {
		k := key(p.Record.Ref())
		s.quota.Inherit(k, p.Record.ImageLength, store.UploadFolder(protocol.Staging, p.Writer), accountOf(p.Record.Ref()))
		s.inherited.add(k, p)
		return nil
	})
}

// errLater means that the recovery of an upload is postponed, since it may take long.
var errLater = errors.New("all its bytes are there")

// Recover recovers the uploads that Inherit has found, one after the other. It begins with the
// uploads that clients can resume, since they need little work; the uploads that have all their
// bytes follow. Recover returns when all are recovered, or when ctx ends. Everything else can be
// used meanwhile.
func (s *Service) Recover(ctx context.Context) {
	for {
		for _, finish := range []bool{false, true} {
			s.recoverAll(ctx, finish)
		}
		if len(s.inherited.all()) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(recoverPause):
		}
	}
}

func (s *Service) recoverAll(ctx context.Context, finish bool) {
	for _, p := range s.inherited.all() {
		if ctx.Err() != nil {
			return
		}
		if err := s.recover(ctx, p, finish); err != nil && !errors.Is(err, errLater) && ctx.Err() == nil {
			s.log.Error("cannot recover an upload now: the depot will try again", "artifact", p.Record.Ref().String(), "error", err)
		}
	}
}

// recover recovers one upload. The upload stays inherited if the storage fails.
func (s *Service) recover(ctx context.Context, p Pending, finish bool) error {
	ref := p.Record.Ref()
	unlock, err := s.locks.acquire(ctx, key(ref), Claim{})
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.recoverOne(ctx, p, finish); err != nil {
		return err
	}
	s.inherited.remove(key(ref))
	return nil
}

func (s *Service) recoverOne(ctx context.Context, p Pending, finish bool) error {
	ref := p.Record.Ref()
	offset, err := s.offset(ctx, p)
	if err != nil && !store.IsAbsent(err) {
		return fmt.Errorf("upload of %s: %w", ref, err)
	}
	if err != nil { // its bytes were purged
		s.log.Warn("removed an upload whose bytes are lost", "artifact", ref.String())
		return s.Abort(ctx, p)
	}
	if p.Whole && offset < p.Record.ImageLength {
		s.log.Warn("removed an incomplete upload: its content must come in one request, so it cannot be resumed", "artifact", ref.String())
		return s.Abort(ctx, p)
	}
	if offset < p.Record.ImageLength {
		return s.store.Tidy(ctx, protocol.Staging, p.Writer, offset)
	}
	if !finish {
		return errLater
	}
	if _, err := s.finish(ctx, p); err != nil {
		if ctx.Err() != nil {
			return err // the next process continues
		}
		// The store works, so the upload is no longer inherited. The next request for it gets the
		// error.
		s.log.Error("cannot finish an upload", "artifact", ref.String(), "error", err)
	}
	return nil
}

// stoppable stops reading when its context ends. A file alone would not notice that.
type stoppable struct {
	io.ReadSeekCloser
	ctx context.Context //nolint:containedctx // the purpose of this type
}

func (r stoppable) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReadSeekCloser.Read(p)
}

// isRefused reports whether err means that the archive was refused. It returns false if ctx has
// ended: reading can then fail although the archive is good.
func isRefused(ctx context.Context, err error) bool {
	var refused interface{ Refused() }
	return ctx.Err() == nil && errors.As(err, &refused)
}
