package access

import (
	"sync"
	"time"
)

const (
	firstRetry   = 5 * time.Second
	longestRetry = 10 * time.Minute
)

// retries remembers failed actions, so that changes of a Provisioning during a run do not cause an
// attempt each. After a restart of the controller, every action is tried at once.
type retries struct {
	mu  sync.Mutex
	all map[string]attempt // by key of the Provisioning
}

type attempt struct {
	subject, message string
	pause            time.Duration
	next             time.Time
}

func newRetries() *retries { return &retries{all: map[string]attempt{}} }

// wait returns the time until the next attempt; 0: now.
func (r *retries) wait(key, subject string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.all[key]; ok && a.subject == subject {
		return max(0, a.next.Sub(now))
	}
	return 0
}

// failed records a failed attempt. It returns the time until the next one, and whether this failure
// differs from the last one.
func (r *retries) failed(key, subject, message string, now time.Time) (after time.Duration, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.all[key]
	a := attempt{subject: subject, message: message, pause: firstRetry}
	if last.subject == subject {
		a.pause = min(2*last.pause, longestRetry)
	}
	a.next = now.Add(a.pause)
	r.all[key] = a
	return a.pause, last.subject != subject || last.message != message
}

func (r *retries) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, key)
}
