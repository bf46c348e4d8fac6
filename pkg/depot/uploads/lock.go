package uploads

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Claim says how a request acquires an artifact's lock. With the zero value, the request waits
// until short work of another request ends, and no other request may interrupt it.
type Claim struct {
	// Resume means that the request continues a transfer at Offset. If a running transfer reports
	// this offset and receives nothing for transferLimit, the request interrupts that transfer. A
	// client that lost its connection therefore need not wait until the server notices the loss. A
	// transfer that still receives data is not interrupted.
	Resume bool
	Offset int64
	// Interrupt ends the transfer of the request that makes this claim. A request that resumes the
	// transfer calls it. Nil means that no request can resume the transfer.
	Interrupt func()
}

// transferLimit is how long a request waits for the end of a transfer. A client that disconnects
// and returns at once is therefore not refused.
const transferLimit = time.Second

// locks has one lock for each artifact.
type locks struct {
	mu   sync.Mutex
	held map[string]*holder
}

// holder is the request that has a lock.
type holder struct {
	released  chan struct{}
	interrupt func()
	// transfer is nil unless a transfer is running.
	transfer *transfer
}

func newLocks() *locks { return &locks{held: map[string]*holder{}} }

// Lock gives the caller the exclusive right to work on an artifact. The error is ErrLocked if
// another request sends the artifact's bytes, or works on it until ctx ends.
func (s *Service) Lock(ctx context.Context, ref protocol.Ref, claim Claim) (unlock func(), err error) {
	if err := s.AwaitRecovery(ctx, ref); err != nil {
		return nil, err
	}
	return s.locks.acquire(ctx, key(ref), claim)
}

// busy reports whether a request or the recovery works on an artifact.
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

// try takes the lock if it is free, and returns mine as the caller's holder. If the lock is taken,
// mine is nil, and other is a copy of the holder that has the lock.
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

// wait returns nil when the lock is released. It interrupts a stalled transfer that the claim
// resumes. It waits at most transferLimit for the end of any other transfer. It returns ErrLocked
// if the lock is not released in time.
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

// transfer is a request body that is being stored.
type transfer struct {
	body io.Reader
	// durable is the offset that survives a crash; -1 means that the transfer cannot be resumed.
	// Only this offset is reported, since clients may drop the bytes before it.
	durable atomic.Int64
	// received counts the bytes that have arrived; some of them may be in memory only.
	received atomic.Int64
}

func (t *transfer) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	t.received.Add(int64(n))
	return n, err
}

// transfer records that the holder of a lock receives body, until ended is called. offset is the
// durable offset at which body begins; for -1, see durable.
func (l *locks) transfer(key string, offset int64, body io.Reader) (t *transfer, ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t = &transfer{body: body}
	t.durable.Store(offset)
	h, held := l.held[key]
	if !held { // without a lock, no other request can know of this transfer
		return t, func() {}
	}
	h.transfer = t
	return t, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		h.transfer = nil
	}
}

// running returns the durable offset of an upload that receives bytes. The store cannot report it
// during the transfer, since the size of a file includes bytes that are not on the disk yet.
func (l *locks) running(key string) (durable int64, running bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, held := l.held[key]
	if !held || h.transfer == nil || h.transfer.durable.Load() < 0 {
		return 0, false
	}
	return h.transfer.durable.Load(), true
}
