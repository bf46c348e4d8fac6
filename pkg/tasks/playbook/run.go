package playbook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Exec runs ansible-playbook and returns its exit status.
type Exec func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (status int, err error)

// Run is one run of a playbook.
type Run struct {
	Task    string // the Tekton Task, whose memory limit a message names
	Name    string // of the playbook, such as cluster.yml
	Command process.Command
	Exec    Exec
	// Accelerated means that accelerations are on, which can be the cause of a failure: see task.Error.
	Accelerated bool
	// Expected is the estimated number of Ansible's tasks.
	Expected int
	Log      io.Writer
	// Report is called with the percentage and the step of the playbook.
	Report func(percent int, step string)
}

// Do runs the playbook and reads its events. It returns the recap and the number of Ansible's tasks
// that were started. Its errors have a failure reason, unless the context has ended.
func (r Run) Do(ctx context.Context) (recap string, started int, err error) {
	meter := ansible.NewMeter(r.Expected)
	journal := ansible.NewJournal(r.Log, meter)
	findings := &ansible.Findings{}
	stderr := &stderrWriter{out: r.Log}
	events, ended := r.follow(ctx, stderr)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for open := true; open; {
		select {
		case now := <-tick.C:
			journal.Tick(now)
		case e, more := <-events:
			if open = more; !more {
				break
			}
			findings.See(e)
			if meter.See(e) {
				r.Report(meter.Percent(), meter.Step())
			}
			journal.See(e)
		}
	}
	end := <-ended
	stderr.flush()
	if err := r.verdict(ctx, findings, end, stderr.last()); err != nil {
		return "", 0, err
	}
	return findings.Recap(), meter.Started(), nil
}

// ending says how ansible-playbook ended.
type ending struct {
	status int
	err    error
}

// follow starts the playbook and returns its events and its ending. The channel of events is closed
// before the ending is sent.
func (r Run) follow(ctx context.Context, stderr io.Writer) (<-chan ansible.Event, <-chan ending) {
	events, ended := make(chan ansible.Event, 64), make(chan ending, 1)
	out, in := io.Pipe()
	go func() {
		status, err := r.Exec(ctx, r.Command, in, stderr)
		in.Close()
		ended <- ending{status, err}
	}()
	go func() {
		defer close(events)
		_ = ansible.Read(out, func(e ansible.Event) { events <- e }) // the only error of this pipe is its end
	}()
	return events, ended
}

// verdict returns the error of the run, or nil if the run succeeded. It decides by the exit status
// and the statistics. It cannot use the events of failed tasks, because there a failure that the
// playbook ignores looks like a real one.
func (r Run) verdict(ctx context.Context, findings *ansible.Findings, end ending, stderr string) error {
	if end.err != nil {
		return task.Because(contract.ReasonInternal, fmt.Errorf("run ansible-playbook: %w", end.err))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s was interrupted: %w", r.Name, context.Cause(ctx))
	}
	cause, bad := findings.Cause()
	switch {
	case bad:
		return r.failure(cause)
	case end.status != 0:
		return r.aborted(end.status, stderr)
	case !findings.Ended():
		return &task.Error{Reason: contract.ReasonPlaybookFailed, Accelerated: r.Accelerated, Err: fmt.Errorf("ansible-playbook %s ended without a recap", r.Name)}
	}
	return nil
}

// aborted returns the error if ansible-playbook failed although no task failed.
func (r Run) aborted(status int, stderr string) error {
	// If memory is short, the kernel kills ansible-playbook or one of the workers that it has
	// forked.
	if status == process.Signalled+int(syscall.SIGKILL) || strings.Contains(stderr, "worker was found in a dead state") {
		return &task.Error{Reason: contract.ReasonOutOfMemory, Accelerated: r.Accelerated, Err: fmt.Errorf(
			"ansible-playbook %s was killed, most likely for lack of memory: raise the memory limit in Task %s", r.Name, r.Task)}
	}
	how := fmt.Sprintf("with exit status %d", status)
	if status > process.Signalled {
		how = fmt.Sprintf("by a signal (%s)", syscall.Signal(status-process.Signalled))
	}
	if stderr == "" {
		stderr = "it wrote nothing to stderr"
	}
	return &task.Error{Reason: contract.ReasonPlaybookFailed, Accelerated: r.Accelerated,
		Err: fmt.Errorf("ansible-playbook %s ended %s, although no task failed: %s", r.Name, how, stderr)}
}

// troubles maps the cause of a failed task to a failure reason.
var troubles = map[ansible.Trouble]contract.Reason{
	"":               contract.ReasonPlaybookFailed,
	ansible.Download: contract.ReasonDownloadFailed,
	ansible.Locked:   contract.ReasonPackagesLocked,
	ansible.TimedOut: contract.ReasonTaskTimedOut,
	ansible.Lasting:  contract.ReasonPlaybookFailed,
}

// lostInModule is a part of the message of a host whose connection the acceleration Interpreter has lost
// (plugins/bpa_acceleration/interpreter.py).
const lostInModule = "while a module ran"

func (r Run) failure(cause ansible.Failure) error {
	message := cause.Message
	if cause.Others > 0 {
		message += fmt.Sprintf(" (and %s failed)", others(cause.Others))
	}
	e := &task.Error{Reason: troubles[cause.Trouble], Host: cause.Host, Step: cause.Task, Err: errors.New(message)}
	if cause.Unreachable {
		e.Reason = contract.ReasonHostUnreachable
		switch {
		case strings.Contains(message, "Host key verification failed"):
			e.Reason = contract.ReasonHostKeyChanged
		case strings.Contains(message, "Permission denied"):
			e.Reason = contract.ReasonSSHDenied
		}
	}
	unknown := !cause.Unreachable && (cause.Trouble == "" || cause.Trouble == ansible.TimedOut)
	e.Accelerated = r.Accelerated && (unknown || cause.Unreachable && strings.Contains(cause.Message, lostInModule))
	return e
}

func others(n int) string {
	if n == 1 {
		return "1 more host"
	}
	return fmt.Sprintf("%d more hosts", n)
}
