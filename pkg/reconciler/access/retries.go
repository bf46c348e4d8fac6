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
	all map[string]map[action]attempt // by key of the Provisioning
}

type attempt struct {
	subject, message string
	pause            time.Duration
	next             time.Time
}

func newRetries() *retries { return &retries{all: map[string]map[action]attempt{}} }

// next returns the first action that need not wait, or the time until the next attempt. Another subject
// is tried at once, such as a new rotation.
func (r *retries) next(key string, due []action, subject string, now time.Time) (next action, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, a := range due {
		last, failed := r.all[key][a]
		left := last.next.Sub(now)
		if !failed || last.subject != subject || left <= 0 {
			return a, 0
		}
		if i == 0 || left < wait {
			wait = left
		}
	}
	return "", wait
}

// failed records a failed attempt. It returns the time until the next one, and whether this failure
// differs from the last one.
func (r *retries) failed(key string, what action, subject, message string, now time.Time) (after time.Duration, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, again := r.all[key][what]
	again = again && last.subject == subject
	a := attempt{subject: subject, message: message, pause: firstRetry}
	if again {
		a.pause = min(2*last.pause, longestRetry)
	}
	a.next = now.Add(a.pause)
	if r.all[key] == nil {
		r.all[key] = map[action]attempt{}
	}
	r.all[key][what] = a
	return a.pause, !again || last.message != message
}

// forget forgets all failed actions of a Provisioning.
func (r *retries) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, key)
}

// succeeded forgets a failed action.
func (r *retries) succeeded(key string, what action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all[key], what)
	delete(r.all[key], compare)
}
