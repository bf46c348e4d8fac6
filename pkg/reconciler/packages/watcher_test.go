package packages

import (
	"context"
	"errors"
	"testing"
	"time"

	clock "k8s.io/utils/clock/testing"
	"knative.dev/pkg/logging"
	logtesting "knative.dev/pkg/logging/testing"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/settings"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestBurst: a list counts when no other has followed for some time, and after a minute in any case.
func TestBurst(t *testing.T) {
	for name, test := range map[string]struct {
		at   []time.Duration
		want time.Duration
	}{
		"one":                 {[]time.Duration{0}, 10 * time.Second},
		"ten uploads":         {[]time.Duration{0, 1 * time.Second, 5 * time.Second, 9 * time.Second}, 19 * time.Second},
		"uploads without end": {[]time.Duration{0, 9 * time.Second, 18 * time.Second, 27 * time.Second, 36 * time.Second, 45 * time.Second, 54 * time.Second}, time.Minute},
	} {
		var b burst
		for _, at := range test.at {
			b.add(noon.Add(at))
		}
		if got := b.end().Sub(noon); got != test.want {
			t.Errorf("%s: counts after %s, want %s", name, got, test.want)
		}
	}
}

// answer is what the depot answers to one request.
type answer struct {
	list *protocol.PackageList
	err  error
}

// fakeDepot answers each request with the next answer.
type fakeDepot struct {
	answers chan answer
	asked   chan string // the ETag of each request
}

func (d *fakeDepot) Packages(ctx context.Context, etag string, _ time.Duration) (*protocol.PackageList, string, error) {
	d.asked <- etag
	select {
	case a := <-d.answers:
		if a.list == nil {
			return nil, etag, a.err
		}
		return a.list, a.list.Packages[0].Version, a.err
	case <-ctx.Done():
		return nil, etag, ctx.Err()
	}
}

func (*fakeDepot) Close() {}

// watched starts a watcher of a depot, whose time is that of the clock.
func watched(t *testing.T) (*Watcher, *fakeDepot, *clock.FakeClock, chan struct{}) {
	t.Helper()
	d, c, changes := &fakeDepot{answers: make(chan answer), asked: make(chan string, 99)}, clock.NewFakeClock(noon), make(chan struct{}, 99)
	w := newWatcher(func(context.Context, settings.Depot) (Depot, error) { return d, nil }, c, func(d time.Duration) time.Duration { return d })
	w.OnChange(func() { changes <- struct{}{} })
	ctx, cancel := context.WithCancel(logging.WithLogger(t.Context(), logtesting.TestLogger(t)))
	t.Cleanup(cancel)
	w.Start(ctx)
	w.Follow(settings.Depot{URL: "https://depot"})
	receive(t, changes)
	return w, d, c, changes
}

func receive[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing happens")
	}
	return value
}

func version(v string) answer {
	return answer{list: &protocol.PackageList{Packages: []protocol.Package{{Name: "curl", Version: v}}}}
}

// until waits until the condition holds, while the watcher's goroutines work.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(limit) {
			t.Fatal(what)
		}
		time.Sleep(time.Millisecond)
	}
}

func (w *Watcher) known() string {
	list, problem := w.Get()
	if list == nil {
		return problem
	}
	return list.Packages[0].Version
}

// TestNewListWaits: the first list counts at once. A new one counts when it was quiet for some time.
func TestNewListWaits(t *testing.T) {
	w, d, c, changes := watched(t)
	if etag := receive(t, d.asked); etag != "" {
		t.Errorf("the first request has the ETag %s", etag)
	}
	d.answers <- version("1")
	receive(t, changes)
	if got := w.known(); got != "1" {
		t.Fatalf("the list is %s after the first answer", got)
	}
	until(t, "no pause after a fast answer", c.HasWaiters)
	c.Step(shortestPoll)
	if etag := receive(t, d.asked); etag != "1" {
		t.Errorf("the second request has the ETag %s", etag)
	}
	d.answers <- version("2")
	until(t, "no pauses", func() bool { return c.Waiters() == 2 }) // before the next request, and until the list counts
	c.Step(quiet - time.Second)
	if got := w.known(); got != "1" {
		t.Fatalf("list %s counts too early", got)
	}
	c.Step(time.Second)
	receive(t, changes)
	if got := w.known(); got != "2" {
		t.Fatalf("list %s counts after the pause", got)
	}
}

// TestDepotFails: a depot that does not answer for some time makes the list unknown, and its return makes it
// known at once. A short outage changes nothing.
func TestDepotFails(t *testing.T) {
	w, d, c, changes := watched(t)
	receive(t, d.asked)
	d.answers <- answer{err: errors.New("refused on port 1")}
	receive(t, changes)
	if got := w.known(); got != "the list of the depot's packages cannot be read: refused on port 1" {
		t.Fatalf("after the first error: %s", got)
	}
	fail := func(pause time.Duration, a answer) {
		t.Helper()
		until(t, "no pause before the next attempt", c.HasWaiters)
		c.Step(pause)
		receive(t, d.asked)
		d.answers <- a
	}
	fail(firstPause, answer{err: errors.New("refused on port 2")}) // the same problem
	fail(2*firstPause, version("1"))
	receive(t, changes)
	if got := w.known(); got != "1" {
		t.Fatalf("after the first list: %s", got)
	}
	fail(shortestPoll, answer{err: errors.New("restarting")})
	fail(firstPause, answer{})
	if got := w.known(); got != "1" {
		t.Fatalf("after a short outage: %s", got)
	}
	fail(idlePoll, answer{err: errors.New("gone")})
	for pause := firstPause; pause <= 16*time.Second; pause *= 2 {
		fail(pause, answer{err: errors.New("gone")})
	}
	receive(t, changes)
	if got := w.known(); got != "the list of the depot's packages cannot be read: gone" {
		t.Fatalf("after a long outage: %s", got)
	}
	fail(32*time.Second, version("1"))
	receive(t, changes)
	if got := w.known(); got != "1" || len(changes) > 0 {
		t.Fatalf("after the return: %s, and %d more changes", got, len(changes))
	}
}

// TestOtherDepot: the list of the former depot does not count any more.
func TestOtherDepot(t *testing.T) {
	w, d, _, changes := watched(t)
	receive(t, d.asked)
	d.answers <- version("1")
	receive(t, changes)
	w.Follow(settings.Depot{URL: "https://depot"}) // the same
	w.Follow(settings.Depot{URL: "https://other"})
	receive(t, changes)
	if got := w.known(); got != "the list of the packages in the depot https://other was not read yet" {
		t.Errorf("another depot: %s", got)
	}
	if etag := receive(t, d.asked); etag != "" {
		t.Errorf("the first request to another depot has the ETag %s", etag)
	}
	w.Follow(settings.Depot{})
	receive(t, changes)
	if list, problem := w.Get(); list != nil || problem == "" || len(changes) > 0 {
		t.Errorf("no depot: %v, %s, %d more changes", list, problem, len(changes))
	}
}

// TestShared: all controllers of a process have the same watcher.
func TestShared(t *testing.T) {
	ctx := With(context.Background())
	if first, second := Get(ctx), Get(ctx); first != second || first == Get(With(ctx)) {
		t.Error("the watcher of a context is not the same for all")
	}
}
