package uploads

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/artifact"
)

// Claim says how a request takes an artifact's lock. The zero value waits for
// short work to end, and nobody may end what its holder does.
type Claim struct {
	// Resume says that the request goes on with a transfer at Offset. It ends a
	// transfer that stands exactly there: a client that lost its connection must
	// not wait until the dead one is noticed. One that still moves goes on.
	Resume bool
	Offset int64
	// Interrupt ends this holder's own transfer, for a request that resumes it.
	// Nil: nobody can go on with it.
	Interrupt func()
}

// transferPatience is how long a request that does not resume a transfer waits
// for its end. A client that hangs up and comes back at once is not refused.
const transferPatience = time.Second

// locks are one to an artifact.
type locks struct {
	mu   sync.Mutex
	held map[string]*holder
}

// holder is the request that has a lock.
type holder struct {
	released  chan struct{}
	interrupt func()
	// transfer is the offset that a running transfer has reached, -1 if it is no
	// upload that could be resumed; nil while none is running.
	transfer *atomic.Int64
}

func newLocks() *locks { return &locks{held: map[string]*holder{}} }

// Lock makes the caller the only one who works on an artifact. If another
// request sends its bytes, or works on it for longer than ctx, the error is
// ErrLocked.
func (s *Service) Lock(ctx context.Context, ref artifact.Ref, claim Claim) (unlock func(), err error) {
	if err := s.Settled(ctx, ref); err != nil {
		return nil, err
	}
	return s.locks.acquire(ctx, key(ref), claim)
}

// busy says whether somebody works on an artifact.
func (s *Service) busy(ref artifact.Ref) bool {
	s.locks.mu.Lock()
	defer s.locks.mu.Unlock()
	_, held := s.locks.held[key(ref)]
	return held || s.Recovering(ref)
}

func (l *locks) acquire(ctx context.Context, key string, claim Claim) (release func(), err error) {
	for {
		mine, other, end := l.try(key, claim)
		if mine != nil {
			return sync.OnceFunc(func() { l.release(key, mine) }), nil
		}
		wait, cancel := ctx, context.CancelFunc(func() {})
		switch {
		case end != nil:
			end()
		case other.transfer != nil:
			wait, cancel = context.WithTimeout(ctx, transferPatience)
		}
		select {
		case <-wait.Done():
			err = ErrLocked
		case <-other.released:
		}
		cancel()
		if err != nil {
			return nil, err
		}
	}
}

// try returns the caller's hold, or else a copy of the other one; end is set if
// the caller may end that.
func (l *locks) try(key string, claim Claim) (mine *holder, other holder, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, taken := l.held[key]
	if !taken {
		mine = &holder{released: make(chan struct{}), interrupt: claim.Interrupt}
		l.held[key] = mine
		return mine, holder{}, nil
	}
	if claim.Resume && h.transfer != nil && h.transfer.Load() == claim.Offset {
		end = h.interrupt
	}
	return nil, *h, end
}

func (l *locks) release(key string, mine *holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, key)
	close(mine.released)
}

// transfer notes that the holder of a lock receives body from offset on, until
// ended is called, and counts what arrives.
func (l *locks) transfer(key string, offset int64, body io.Reader) (counted io.Reader, ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, held := l.held[key]
	if !held { // nobody could be in the way
		return body, func() {}
	}
	at := &atomic.Int64{}
	at.Store(offset)
	h.transfer = at
	return &countedBody{body, at}, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		h.transfer = nil
	}
}

// received is the offset that a running upload has reached. What the store says
// meanwhile leaves out what is on its way to the disk.
func (l *locks) received(key string) (offset int64, running bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, held := l.held[key]
	if !held || h.transfer == nil || h.transfer.Load() < 0 {
		return 0, false
	}
	return h.transfer.Load(), true
}

type countedBody struct {
	io.Reader
	at *atomic.Int64
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.at.Load() >= 0 {
		c.at.Add(int64(n))
	}
	return n, err
}
