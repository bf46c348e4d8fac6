package supervisor

import (
	"context"
	"sync"
	"time"
)

// Phase is the state of a component.
type Phase string

// The phases of a component.
const (
	Waiting    Phase = "waiting"  // not started, because a component that it needs is not ready
	Starting   Phase = "starting" // running, not ready yet
	Ready      Phase = "ready"
	Unhealthy  Phase = "unhealthy" // was ready, and does not answer its probes
	BackingOff Phase = "backoff"   // exited; restarts after the backoff
	Stopped    Phase = "stopped"   // stopped by the supervisor
)

// Status is the current status of one component.
type Status struct {
	Name     string    `json:"name"`
	Phase    Phase     `json:"phase"`
	PID      int       `json:"pid,omitempty"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since"`          // start of the phase
	Exit     string    `json:"exit,omitempty"` // how the program ended when it last exited by itself
}

// board holds the status of every component and wakes goroutines that wait for a change.
type board struct {
	mu      sync.Mutex
	entries map[string]Status
	changed chan struct{}
}

func newBoard() *board {
	return &board{entries: map[string]Status{}, changed: make(chan struct{})}
}

func (b *board) update(name string, change func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.entries[name]
	before := s.Phase
	s.Name = name
	change(&s)
	if s.Phase != before {
		s.Since = time.Now()
	}
	b.entries[name] = s
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *board) remove(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, name)
}

func (b *board) snapshot() (map[string]Status, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	copied := make(map[string]Status, len(b.entries))
	for name, s := range b.entries {
		copied[name] = s
	}
	return copied, b.changed
}

// await returns nil when cond holds for the current statuses (by component name), or the error of
// ctx.
func (b *board) await(ctx context.Context, cond func(map[string]Status) bool) error {
	for {
		now, changed := b.snapshot()
		if cond(now) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
