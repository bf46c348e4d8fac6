package supervisor

import (
	"context"
	"sync"
	"time"
)

// Phase is what a component is doing.
type Phase string

// The phases in the order of a healthy life.
const (
	Waiting  Phase = "waiting"  // for what it needs
	Starting Phase = "starting" // running, not ready yet
	Ready    Phase = "ready"
	Pausing  Phase = "pausing" // exited; restarts after a pause
	Stopped  Phase = "stopped" // on purpose
)

// Status is what is known of one component.
type Status struct {
	Name     string    `json:"name"`
	Phase    Phase     `json:"phase"`
	PID      int       `json:"pid,omitempty"`
	Restarts int       `json:"restarts"`
	Since    time.Time `json:"since"`          // of the phase
	Exit     string    `json:"exit,omitempty"` // how it last ended, when not on purpose
}

// board holds every component's status and wakes those who wait for a change.
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

// await returns when cond holds, or with ctx's error.
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
