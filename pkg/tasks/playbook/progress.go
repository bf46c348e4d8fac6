package playbook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Progress stores the progress of the task in a Store that the reconciler watches. It writes
// only if the progress has changed, and at most once a second. The task never waits for it.
type Progress struct {
	ctx   context.Context
	store Store
	log   io.Writer
	every time.Duration

	mu      sync.Mutex
	latest  contract.Progress
	changed chan struct{} // has one element as long as latest is not stored
	stop    chan struct{}
	done    chan struct{}
}

// Store keeps strings by key. Get returns an empty string if there is no such key.
type Store interface {
	Get(ctx context.Context, key string) (string, error)
	Set(ctx context.Context, key, value string) error
}

// StartProgress starts to store the progress of one task of a run. The caller calls End.
func StartProgress(ctx context.Context, store Store, run, task string, log io.Writer) *Progress {
	t := &Progress{
		ctx: ctx, store: store, log: log, every: time.Second, latest: contract.Progress{Run: run, Task: task},
		changed: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go t.run()
	return t
}

// Set records the progress of the task. It does not wait until the progress is stored. The
// percentage never decreases.
func (t *Progress) Set(percent int, step string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.latest
	next.Percent, next.Step = max(t.latest.Percent, percent), step
	if next == t.latest {
		return
	}
	t.latest = next
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// SetEngine records which playbooks the task has. It is stored with the next progress.
func (t *Progress) SetEngine(engine string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest.Engine = engine
}

// End stores the last progress and then stops the writer.
func (t *Progress) End() {
	close(t.stop)
	<-t.done
}

func (t *Progress) run() {
	defer close(t.done)
	warned := false
	write := func() {
		if err := t.write(); err != nil && !warned {
			warned = true
			fmt.Fprintf(t.log, "The progress cannot be stored; the run goes on: %v\n", err)
		}
	}
	for {
		select {
		case <-t.changed:
			write()
		case <-t.stop:
			select {
			case <-t.changed:
				write()
			default:
			}
			return
		}
		select {
		case <-time.After(t.every):
		case <-t.stop:
		}
	}
}

func (t *Progress) write() error {
	t.mu.Lock()
	latest := t.latest
	t.mu.Unlock()
	text, err := json.Marshal(latest)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), 10*time.Second)
	defer cancel()
	return t.store.Set(ctx, contract.KeyProgress, string(text))
}
