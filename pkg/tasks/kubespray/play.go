package kubespray

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// count estimates the number of tasks in the playbook. It works in parallel, because reading
// kubespray's playbooks takes some time, and sends the number once.
func count(in Input) <-chan int {
	counted := make(chan int, 1)
	go func() { counted <- ansible.CountTasks(os.DirFS(in.PlaybooksDir), in.Playbook) }()
	return counted
}

// play runs the playbook, reads its events, and returns its recap. It calls report with the
// percentage and the step of the playbook. The channel counted delivers the estimated number of
// tasks in the playbook.
func play(ctx context.Context, in Input, f files, ports Ports, report func(percent int, step string), counted <-chan int) (string, error) {
	expected := expect(ctx, in, ports, <-counted)
	meter := ansible.NewMeter(expected.tasks)
	journal := ansible.NewJournal(ports.Log, meter)
	findings := &ansible.Findings{}
	stderr := &stderrWriter{out: ports.Log}
	nodes := in.played()
	fmt.Fprintf(ports.Log, "\nRunning %s on %s, at most %d at a time\n", in.Playbook, some(nodes, "node"), forks(nodes))

	events, ended := follow(ctx, command(in, f), ports, stderr)
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
				report(meter.Percent(), meter.Step())
			}
			journal.See(e)
		}
	}
	end := <-ended
	stderr.flush()
	if err := verdict(ctx, in, findings, end, stderr.last()); err != nil {
		return "", err
	}
	expected.remember(ctx, ports, meter.Started())
	return findings.Recap(), nil
}

// ending says how ansible-playbook ended.
type ending struct {
	status int
	err    error
}

// follow starts the playbook and returns its events and its ending. The channel of events is closed
// before the ending is sent.
func follow(ctx context.Context, c process.Command, ports Ports, stderr io.Writer) (<-chan ansible.Event, <-chan ending) {
	events, ended := make(chan ansible.Event, 64), make(chan ending, 1)
	out, in := io.Pipe()
	go func() {
		status, err := ports.Playbook(ctx, c, in, stderr)
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
func verdict(ctx context.Context, in Input, findings *ansible.Findings, end ending, stderr string) error {
	if end.err != nil {
		return task.Because(contract.ReasonInternal, fmt.Errorf("run ansible-playbook: %w", end.err))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s was interrupted: %w", in.Playbook, context.Cause(ctx))
	}
	cause, bad := findings.Cause()
	switch {
	case bad:
		return failure(cause)
	case end.status != 0:
		return aborted(in, end.status, stderr)
	case !findings.Ended():
		return task.Because(contract.ReasonPlaybookFailed, fmt.Errorf("ansible-playbook %s ended without a recap", in.Playbook))
	}
	return nil
}

// aborted returns the error if ansible-playbook failed although no task failed.
func aborted(in Input, status int, stderr string) error {
	// If memory is short, the kernel kills ansible-playbook or one of the workers that it has
	// forked.
	if status == process.Signalled+int(syscall.SIGKILL) || strings.Contains(stderr, "worker was found in a dead state") {
		return task.Because(contract.ReasonOutOfMemory, fmt.Errorf("ansible-playbook %s was killed, most likely for lack of memory: "+
			"raise the memory limit in Task %s", in.Playbook, contract.TaskKubespray))
	}
	how := fmt.Sprintf("with exit status %d", status)
	if status > process.Signalled {
		how = fmt.Sprintf("by a signal (%s)", syscall.Signal(status-process.Signalled))
	}
	if stderr == "" {
		stderr = "it wrote nothing to stderr"
	}
	return task.Because(contract.ReasonPlaybookFailed, fmt.Errorf("ansible-playbook %s ended %s, although no task failed: %s", in.Playbook, how, stderr))
}

// troubles maps the cause of a failed task to a failure reason.
var troubles = map[ansible.Trouble]contract.Reason{
	"":               contract.ReasonPlaybookFailed,
	ansible.Download: contract.ReasonDownloadFailed,
	ansible.Locked:   contract.ReasonPackagesLocked,
	ansible.TimedOut: contract.ReasonTaskTimedOut,
}

func failure(cause ansible.Failure) error {
	message := cause.Message
	if cause.Others > 0 {
		message += fmt.Sprintf(" (and %s failed)", some(cause.Others, "more host"))
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
	return e
}

// forks returns how many hosts Ansible works on in parallel. Ansible's default of 5 is slow if
// there are many nodes. The number is limited because each fork needs memory.
func forks(nodes int) int { return min(max(5, nodes), 40) }

func command(in Input, f files) process.Command {
	env := []string{
		"HOME=" + f.scratch,
		"TMPDIR=" + filepath.Join(f.scratch, "tmp"),
		"PATH=" + os.Getenv("PATH"),
		"LC_ALL=C.UTF-8", // ansible requires UTF-8
		"PYTHONUNBUFFERED=1",
		"PYTHONDONTWRITEBYTECODE=1",
		"ANSIBLE_STDOUT_CALLBACK=ansible.posix.jsonl",
		"ANSIBLE_CALLBACKS_ENABLED=", // otherwise kubespray's callbacks would print text between the JSON lines
		"ANSIBLE_CACHE_PLUGIN_CONNECTION=" + filepath.Join(f.scratch, "facts"),
		"ANSIBLE_LOCAL_TEMP=" + filepath.Join(f.scratch, "tmp"),
		"ANSIBLE_SSH_CONTROL_PATH_DIR=" + f.controlPaths,
		"ANSIBLE_HOST_KEY_CHECKING=True",
		"ANSIBLE_SSH_ARGS=" + f.sshArgs(),
		"ANSIBLE_RETRY_FILES_ENABLED=False",
		"ANSIBLE_NOCOLOR=1",
	}
	if config := filepath.Join(in.PlaybooksDir, "ansible.cfg"); exists(config) {
		env = append(env, "ANSIBLE_CONFIG="+config)
	}
	for _, kept := range []string{"ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_STRATEGY_PLUGINS", "LD_LIBRARY_PATH"} { // set by the image
		if value := os.Getenv(kept); value != "" {
			env = append(env, kept+"="+value)
		}
	}
	args := []string{
		"ansible-playbook", "-b", "-i", f.inventory, "--private-key", f.key, "--forks", strconv.Itoa(forks(in.played())),
		"-e", "@" + f.extraVars,
	}
	if len(in.limit) > 0 {
		args = append(args, "--limit", strings.Join(in.limit, ","))
	}
	if in.tags != "" {
		args = append(args, "--tags", in.tags)
	}
	return process.Command{Dir: in.PlaybooksDir, Args: append(args, in.Playbook), Env: env}
}

// played returns the number of nodes on which the playbook runs.
func (in Input) played() int {
	if len(in.limit) > 0 {
		return len(in.limit)
	}
	return len(in.Nodes)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
