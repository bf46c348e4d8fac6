package kubespray

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// progressWriter stores progress where the reconciler watches it: at most once a second, only what changed, and never holding up the work.
type progressWriter struct {
	ctx   context.Context
	store Store
	log   io.Writer
	every time.Duration

	mu      sync.Mutex
	latest  contract.Progress
	changed chan struct{} // holds one token if latest is not stored yet
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

// set says how far the task is. It never waits.
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

// end stores what was said last and returns.
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
			fmt.Fprintf(t.log, "progress is not shown: %v\n", err)
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

// keyTasks holds, beside the progress, how many tasks each playbook started when it last went well, by its name and how many were
// found in it, so that other playbooks under the same name begin anew: {"cluster.yml 1132": 1212}.
const keyTasks = "tasks.json"

// expectation is how many tasks a playbook is expected to start.
type expectation struct {
	known map[string]int
	key   string
	tasks int
}

// expect takes the number of last time, else the estimate from reading the playbook.
func expect(ctx context.Context, in Input, ports Ports, found int) expectation {
	e := expectation{known: counts(ctx, ports), key: fmt.Sprintf("%s %d", in.Playbook, found), tasks: found}
	if last := e.known[e.key]; last > 0 {
		e.tasks = last
	}
	return e
}

// remember is worth no failure: the next run would estimate again.
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
