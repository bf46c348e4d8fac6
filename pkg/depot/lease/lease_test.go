package lease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

// fakeClock is a clock whose Wait returns at once. Wait calls the function each, unless it is nil.
// With each, a test does what another depot would do at that time.
type fakeClock struct {
	now  time.Time
	each func()
}

func (s *fakeClock) Now() time.Time { return s.now }

func (s *fakeClock) Wait(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	if s.each != nil {
		s.each()
	}
	return ctx.Err()
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Unix(1_000_000, 0)} }

func TestOnlyOneDepotHoldsABucket(t *testing.T) {
	bucket, clock := inmemory.New(), newFakeClock()
	first, err := take(t.Context(), bucket, "first", "host-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Held(); err != nil {
		t.Error(err)
	}
	// The clock of the other depot is a year behind.
	other := &fakeClock{now: clock.now.AddDate(-1, 0, 0), each: func() {
		if err := first.renew(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	var held *HeldError
	if _, err := take(t.Context(), bucket, "second", "host-2", other); !errors.As(err, &held) || held.Host != "host-1" || !strings.Contains(err.Error(), "takes over") {
		t.Errorf("a second depot = %v, want a HeldError that says how to take over", err)
	}
	if err := first.renew(t.Context()); err != nil {
		t.Errorf("the first depot cannot renew: %v", err)
	}
	// After a restart, the first depot gets the lease at once.
	began := clock.now
	if first, err = take(t.Context(), bucket, "first", "host-1", clock); err != nil || clock.now != began {
		t.Fatalf("the same depot again = %v after %s", err, clock.now.Sub(began))
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	began = other.now
	other.each = nil
	if _, err := take(t.Context(), bucket, "second", "host-2", other); err != nil || other.now.Sub(began) > contestDelay {
		t.Errorf("after the first was stopped = %v after %s", err, other.now.Sub(began))
	}
}

func TestADeadDepotsLeaseEnds(t *testing.T) {
	bucket, clock := inmemory.New(), newFakeClock()
	first, err := take(t.Context(), bucket, "first", "host-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	began := clock.now
	second, err := take(t.Context(), bucket, "second", "host-2", clock)
	if err != nil || clock.now.Sub(began) < timeToLive {
		t.Fatalf("taken after %s, %v; want to wait for %s", clock.now.Sub(began), err, timeToLive)
	}
	if err := first.Held(); err == nil {
		t.Error("the first relies on a lease that it could not renew")
	}
	var held *HeldError
	if err := first.Keep(t.Context(), func(err error) { t.Error(err) }); !errors.As(err, &held) || held.Host != "host-2" {
		t.Errorf("the first goes on with %v", err)
	}
	if err := first.Held(); !errors.As(err, &held) {
		t.Errorf("the first holds it with %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.renew(t.Context()); err != nil {
		t.Errorf("the second depot cannot renew: %v", err)
	}
	if _, there, err := second.read(t.Context()); !there || err != nil {
		t.Errorf("the second's lease is gone: %v", err)
	}
}

// A restored backup that runs beside its original depot has the same id.
func TestACopyOfADepotIsAnotherDepot(t *testing.T) {
	bucket, clock := inmemory.New(), newFakeClock()
	first, err := take(t.Context(), bucket, "same", "host-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := &fakeClock{now: clock.now, each: func() {
		if err := first.renew(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	var held *HeldError
	if _, err := take(t.Context(), bucket, "same", "host-2", elsewhere); !errors.As(err, &held) {
		t.Errorf("a copy on another host = %v, want to be refused", err)
	}
	// A copy on the same host cannot be distinguished from a restart, so it gets the lease. The
	// first depot then notices that it has lost the lease.
	copied, err := take(t.Context(), bucket, "same", "host-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.renew(t.Context()); !errors.As(err, &held) || !errors.As(first.Held(), &held) {
		t.Errorf("the first goes on with %v, and holds it with %v", err, first.Held())
	}
	if err := errors.Join(first.Release(t.Context()), copied.renew(t.Context())); err != nil {
		t.Error(err)
	}
	if _, there, err := copied.read(t.Context()); !there || err != nil {
		t.Errorf("the copy's lease is gone: %v", err)
	}
}

// silent is a bucket that never answers a read.
type silent struct{ storagedriver.StorageDriver }

func (silent) GetContent(ctx context.Context, _ string) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestABucketThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	clock := newFakeClock()
	l, err := take(t.Context(), inmemory.New(), "first", "host-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	answers := l.driver
	l.driver, l.renewLimit = silent{answers}, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	reported := 0
	clock.each = func() {
		if reported > 0 && l.Held() == nil { // the second attempt has renewed the lease
			cancel()
		}
	}
	err = l.Keep(ctx, func(error) { reported, l.driver = reported+1, answers })
	if err != nil || reported != 1 {
		t.Errorf("Keep = %v with %d reports", err, reported)
	}
}

// Two depots that start at the same moment both find no lease.
func TestOfTwoThatStartTogetherOneIsRefused(t *testing.T) {
	bucket := inmemory.New()
	var second error
	clock := newFakeClock()
	clock.each = func() { // the first depot has written the object and waits
		clock.each = nil
		late := &Lease{driver: bucket, owner: "second", host: "host-2", clock: newFakeClock()}
		second = errors.Join(late.write(t.Context()), late.renew(t.Context()))
	}
	_, err := take(t.Context(), bucket, "first", "host-1", clock)
	var held *HeldError
	if !errors.As(err, &held) || second != nil {
		t.Errorf("the first = %v, the second = %v; want the first to be refused", err, second)
	}
}

func TestADamagedLeaseIsNotFree(t *testing.T) {
	bucket := inmemory.New()
	if err := bucket.PutContent(t.Context(), path, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := take(t.Context(), bucket, "first", "host-1", newFakeClock()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged lease = %v, want an error that names it", err)
	}
}
