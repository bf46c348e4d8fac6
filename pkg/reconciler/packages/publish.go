package packages

import (
	"context"
	"time"
)

const (
	// quiet is how long no other list must follow before a new one counts, and longest the longest time that
	// a list waits for this.
	quiet, longest = 10 * time.Second, time.Minute
)

// burst are lists that follow each other.
type burst struct{ first, last time.Time }

// add adds a list.
func (b *burst) add(now time.Time) {
	if b.first.IsZero() {
		b.first = now
	}
	b.last = now
}

// end returns when the last list counts.
func (b burst) end() time.Time {
	end, limit := b.last.Add(quiet), b.first.Add(longest)
	if limit.Before(end) {
		return limit
	}
	return end
}

// publish makes new lists count.
func (w *Watcher) publish(ctx context.Context) {
	for {
		select {
		case <-w.news:
		case <-ctx.Done():
			return
		}
		var b burst
		for b.add(w.clock.Now()); ; b.add(w.clock.Now()) {
			if !w.another(ctx, b.end()) {
				break
			}
		}
		if ctx.Err() != nil {
			return
		}
		w.count()
	}
}

// another waits until this time for another list.
func (w *Watcher) another(ctx context.Context, until time.Time) bool {
	timer := w.clock.NewTimer(until.Sub(w.clock.Now()))
	defer timer.Stop()
	select {
	case <-w.news:
		return true
	case <-timer.C():
	case <-ctx.Done():
	}
	return false
}

// count makes the newest list the one that counts.
func (w *Watcher) count() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list != nil && w.list != w.newest { // nil: the depot does not answer any more
		w.list = w.newest
		w.tell()
	}
}
