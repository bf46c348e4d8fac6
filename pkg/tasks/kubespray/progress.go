package kubespray

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// progressWriter stores the progress of the task in a Store that the reconciler watches. It writes
// only if the progress has changed, and at most once a second. The task never waits for it.
type progressWriter struct {
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

func startProgress(ctx context.Context, store Store, run string, log io.Writer) *progressWriter {
	t := &progressWriter{
		ctx: ctx, store: store, log: log, every: time.Second, latest: contract.Progress{Run: run},
		changed: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go t.run()
	return t
}

// set records the progress of the task. It does not wait until the progress is stored. The
// percentage never decreases.
func (t *progressWriter) set(percent int, step string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := contract.Progress{Run: t.latest.Run, Percent: max(t.latest.Percent, percent), Step: step}
	if next == t.latest {
		return
	}
	t.latest = next
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// end stores the last progress and then stops the progressWriter.
func (t *progressWriter) end() {
	close(t.stop)
	<-t.done
}

func (t *progressWriter) run() {
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

func (t *progressWriter) write() error {
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

// keyTasks is a key in the Store Ports.Progress. Its value is a JSON object, such as
// {"cluster.yml 1132": 1212}. The object maps each playbook to the number of tasks that the
// playbook started in its last successful run. A playbook is identified by its name and its
// estimated number of tasks, so that another playbook with the same name does not get the number.
const keyTasks = "tasks.json"

// expectation is the number of tasks that a playbook will probably start.
type expectation struct {
	known map[string]int
	key   string
	tasks int
}

// expect returns the number of tasks in the last successful run. If it is not known, it returns
// found, which is the estimate.
func expect(ctx context.Context, in Input, ports Ports, found int) expectation {
	e := expectation{known: counts(ctx, ports), key: strings.TrimSpace(fmt.Sprintf("%s %d %s", in.Playbook, found, in.tags)), tasks: found}
	if last := e.known[e.key]; last > 0 {
		e.tasks = last
	}
	return e
}

// remember stores the number of tasks that were started. It ignores errors: without the number, the
// next run uses the estimate.
func (e expectation) remember(ctx context.Context, ports Ports, started int) {
	e.known[e.key] = started
	if text, err := json.Marshal(e.known); err == nil {
		_ = ports.Progress.Set(ctx, keyTasks, string(text))
	}
}

func counts(ctx context.Context, ports Ports) map[string]int {
	known := map[string]int{}
	if text, err := ports.Progress.Get(ctx, keyTasks); err == nil && text != "" {
		_ = json.Unmarshal([]byte(text), &known)
	}
	if known == nil {
		known = map[string]int{}
	}
	return known
}
