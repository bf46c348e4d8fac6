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

// recoverPause is how long a storage that failed is left alone.
const recoverPause = 30 * time.Second

// recoveryWait is how long somebody who wants to change an inherited upload waits
// for its turn, which mostly comes at once.
const recoveryWait = 500 * time.Millisecond

// inherited are the uploads that an earlier process has left, until somebody
// has looked at them. Nobody else may work on them before.
type inherited struct {
	mu sync.Mutex
	// waiting is by the artifact's key.
	waiting map[string]left
}

type left struct {
	Pending
	// done is closed when it waits no more.
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

// Recovering says whether an upload is left from an earlier process and was
// not looked at yet. It can be read, and not be changed.
func (s *Service) Recovering(ref protocol.Ref) bool {
	_, waiting := s.inherited.get(key(ref))
	return waiting
}

// AwaitRecovery waits a moment for the end of a recovery; if it goes on, the error is
// ErrRecovering.
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

// Inherit notes what an earlier process has left, and holds its room. It reads
// a small note for each, and none of their bytes.
func (s *Service) Inherit(ctx context.Context) error {
	return s.eachPending(ctx, func(p Pending) error {
		k := key(p.Record.Ref())
		s.quota.Inherit(k, p.Record.ImageLength, store.UploadFolder(protocol.Staging, p.Writer))
		s.inherited.add(k, p)
		return nil
	})
}

// errLater puts off what may take long.
var errLater = errors.New("all its bytes are there")

// Recover finishes what Inherit has found, one after the other, and returns
// when all is done or ctx ends. Meanwhile everything else can be used. What is
// only to go on comes first.
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
			s.log.Error("an upload cannot be recovered now: it is tried again", "artifact", p.Record.Ref().String(), "error", err)
		}
	}
}

// recover decides about one upload. It stays inherited if the storage fails.
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
		s.log.Warn("an upload has lost its bytes and is dropped", "artifact", ref.String())
		return s.Abort(ctx, p)
	}
	if p.Whole && offset < p.Record.ImageLength {
		s.log.Warn("an upload in one request was cut off and is dropped", "artifact", ref.String())
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
			return err // the next process goes on
		}
		// The store works, and the answer is for whoever asks next.
		s.log.Error("an upload cannot be finished", "artifact", ref.String(), "error", err)
	}
	return nil
}

// stoppable ends reading with a context, which a file would not notice.
type stoppable struct {
	io.ReadSeekCloser
	ctx context.Context //nolint:containedctx // it is what this type is for
}

func (r stoppable) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReadSeekCloser.Read(p)
}

// isRefused says whether an archive is to blame for an error, and not the end
// of the process that made reading it fail.
func isRefused(ctx context.Context, err error) bool {
	var refused interface{ Refused() }
	return ctx.Err() == nil && errors.As(err, &refused)
}
