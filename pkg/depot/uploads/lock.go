package uploads

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Claim says how a request takes an artifact's lock. The zero value waits for
// short work to end, and nobody may end what its holder does.
type Claim struct {
	// Resume says that the request goes on with a transfer at Offset. If that is
	// the offset that a running transfer reports, and the transfer receives nothing
	// for transferLimit, the request ends it: a client that lost its connection
	// must not wait until the server notices that. A transfer that moves goes on.
	Resume bool
	Offset int64
	// Interrupt ends this holder's own transfer, for a request that resumes it.
	// Nil: nobody can go on with it.
	Interrupt func()
}

// transferLimit is how long a request waits for the end of a transfer. A
// client that hangs up and comes back at once is not refused.
const transferLimit = time.Second

// locks are one to an artifact.
type locks struct {
	mu   sync.Mutex
	held map[string]*holder
}

// holder is the request that has a lock.
type holder struct {
	released  chan struct{}
	interrupt func()
	// transfer is nil while none is running.
	transfer *transfer
}

func newLocks() *locks { return &locks{held: map[string]*holder{}} }

// Lock makes the caller the only one who works on an artifact. If another
// request sends its bytes, or works on it for longer than ctx, the error is
// ErrLocked.
func (s *Service) Lock(ctx context.Context, ref protocol.Ref, claim Claim) (unlock func(), err error) {
	if err := s.AwaitRecovery(ctx, ref); err != nil {
		return nil, err
	}
	return s.locks.acquire(ctx, key(ref), claim)
}

// busy says whether somebody works on an artifact.
func (s *Service) busy(ref protocol.Ref) bool {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	_, held := s.locks.held[key(ref)]
	return held || s.Recovering(ref)
}

func (l *locks) acquire(ctx context.Context, key string, claim Claim) (release func(), err error) {
	for {
		mine, other := l.try(key, claim)
		if mine != nil {
			return sync.OnceFunc(func() { l.release(key, mine) }), nil
		}
		if err := other.wait(ctx, claim); err != nil {
			return nil, err
		}
	}
}

// try returns the caller's hold, or else a copy of the other one.
func (l *locks) try(key string, claim Claim) (mine *holder, other holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, taken := l.held[key]; taken {
		return nil, *h
	}
	mine = &holder{released: make(chan struct{}), interrupt: claim.Interrupt}
	l.held[key] = mine
	return mine, holder{}
}

// wait returns when the lock is released, or ErrLocked. It ends a transfer that
// the claim resumes and that has stopped.
func (h holder) wait(ctx context.Context, claim Claim) error {
	if h.transfer == nil {
		return h.ended(ctx)
	}
	before := h.transfer.received.Load()
	brief, cancel := context.WithTimeout(ctx, transferLimit)
	defer cancel()
	err := h.ended(brief)
	stopped := h.transfer.received.Load() == before
	resumed := claim.Resume && h.interrupt != nil && h.transfer.durable.Load() == claim.Offset
	if err == nil || ctx.Err() != nil || !stopped || !resumed {
		return err
	}
	h.interrupt()
	return h.ended(ctx)
}

func (h holder) ended(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ErrLocked
	case <-h.released:
		return nil
	}
}

func (l *locks) release(key string, mine *holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, key)
	close(mine.released)
}

// transfer is a body on its way to the disk.
type transfer struct {
	body io.Reader
	// durable is the offset that survives a crash, -1 if nobody can go on with the
	// transfer. Clients may drop what is before it, so no other is reported.
	durable atomic.Int64
	// received counts bytes that may be in memory only.
	received atomic.Int64
}

func (t *transfer) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.received.Add(int64(n))
	return n, err
}

// transfer notes that the holder of a lock receives body from a durable offset
// on, until ended is called.
func (l *locks) transfer(key string, offset int64, body io.Reader) (t *transfer, ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t = &transfer{body: body}
	t.durable.Store(offset)
	h, held := l.held[key]
	if !held { // nobody could be in the way
		return t, func() {}
	}
	h.transfer = t
	return t, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		h.transfer = nil
	}
}

// running is the durable offset of an upload that receives bytes. The store
// cannot tell it meanwhile: a file's size includes what is not on the disk yet.
func (l *locks) running(key string) (durable int64, running bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, held := l.held[key]
	if !held || h.transfer == nil || h.transfer.durable.Load() < 0 {
		return 0, false
	}
	return h.transfer.durable.Load(), true
}
