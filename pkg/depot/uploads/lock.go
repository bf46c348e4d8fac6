package uploads

import (
	"context"
	"sync"

	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/memorylocker"

	"github.com/akraino-icn/bpa/pkg/depot/artifact"
)

// locks are one to an artifact. Whoever wants one that is held has its holder
// asked to let go: a client that lost its connection and comes back must not
// wait until the dead one is noticed.
type locks struct {
	locker *memorylocker.MemoryLocker
	// held are the keys of locks that somebody has.
	held *sync.Map
}

func newLocks() locks { return locks{memorylocker.New(), &sync.Map{}} }

// Lock makes the caller the only one who works on an artifact. Whoever holds
// the lock is asked by its interrupt to let go; how long we wait for that is
// ctx's matter.
func (s *Service) Lock(ctx context.Context, ref artifact.Ref, interrupt func()) (unlock func(), err error) {
	if err := s.Settled(ctx, ref); err != nil {
		return nil, err
	}
	lock, err := s.locks.of(key(ref))
	if err != nil {
		return nil, err
	}
	if err := lock.Lock(ctx, interrupt); err != nil {
		return nil, ErrLocked
	}
	return func() { _ = lock.Unlock() }, nil // a lock in memory cannot fail to open
}

// NewLock is Lock for the tus handler, with an id that TusID made.
func (s *Service) NewLock(id string) (handler.Lock, error) {
	k, _, ok := cutTusID(id)
	if !ok {
		return nil, handler.ErrNotFound
	}
	return s.locks.of(k)
}

// busy says whether somebody works on an artifact, without asking them to stop.
func (s *Service) busy(ref artifact.Ref) bool {
	_, held := s.locks.held.Load(key(ref))
	return held || s.Recovering(ref)
}

func (l locks) of(key string) (handler.Lock, error) {
	inner, err := l.locker.NewLock(key)
	return &lock{inner, l.held, key}, err
}

type lock struct {
	inner handler.Lock
	held  *sync.Map
	key   string
}

func (l *lock) Lock(ctx context.Context, interrupt func()) error {
	if err := l.inner.Lock(ctx, interrupt); err != nil {
		return err
	}
	l.held.Store(l.key, nil)
	return nil
}

func (l *lock) Unlock() error {
	l.held.Delete(l.key)
	return l.inner.Unlock()
}
