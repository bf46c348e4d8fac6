package session

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// hiding returns ports that show none of the texts. flush writes the end of the log.
func hiding(hide *ansible.Literals, ports Ports) (hidden Ports, flush func()) {
	log := &lockedLog{to: hide.Writer(ports.Log)}
	play := ports.Playbook
	ports.Log = log
	ports.Playbook = func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
		out, problems := hide.Writer(stdout), hide.Writer(stderr)
		status, err := play(ctx, c, out, problems)
		return status, errors.Join(err, out.Flush(), problems.Flush())
	}
	ports.Progress = hiddenStore{ports.Progress, hide}
	return ports, log.flush
}

// lockedLog lets several goroutines write to the log.
type lockedLog struct {
	mu sync.Mutex
	to *ansible.LiteralWriter
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

func (l *lockedLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.to.Flush() // as with every other line of the log, nothing can be done about an error
}

// hiddenStore hides the texts in what it stores.
type hiddenStore struct {
	Store
	hide *ansible.Literals
}

func (s hiddenStore) Set(ctx context.Context, key, value string) error {
	return s.Store.Set(ctx, key, string(s.hide.RedactEvent([]byte(value))))
}

// withoutTexts returns the failure without the texts. What a caller can ask of the error stays.
func withoutTexts(hide *ansible.Literals, err error) error {
	if err == nil {
		return nil
	}
	clean := err.Error()
	var e *task.Error
	if !errors.As(err, &e) {
		if hide.Redact(clean) == clean {
			return err
		}
		return errors.New(hide.Redact(clean))
	}
	safe := *e
	safe.Accelerated = task.FailureOf(err).Accelerated
	safe.Step, safe.Err = hide.Redact(e.Step), errors.New(hide.Redact(e.Err.Error()))
	return &safe
}
