package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// KillAfter is the time that a playbook has to end after SIGTERM. Kubernetes gives the pod 30 s in
// total.
const KillAfter = 10 * time.Second

// Command is a process to run.
type Command struct {
	Dir  string
	Args []string // Args[0] is the program
	Env  []string
}

// Signalled is added to the number of a signal. The sum is the exit status of a process that was
// ended by this signal, as in shells.
const Signalled = 128

// Exec runs a command in a new process group and returns its exit status. If a signal ended the
// command, the status is Signalled plus the number of the signal. When the context ends, Exec sends
// SIGTERM to the whole group, and SIGKILL after killAfter. No process of the group survives Exec.
func Exec(ctx context.Context, killAfter time.Duration, c Command, stdout, stderr io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ends child processes that still run after the command
	var exit *exec.ExitError
	switch {
	case err == nil, errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return status(cmd.ProcessState), nil
	case ctx.Err() != nil:
		return -1, nil // the caller can read in ctx why the command ended
	}
	return 0, err
}

func status(state *os.ProcessState) int {
	if wait, ok := state.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return Signalled + int(wait.Signal())
	}
	return state.ExitCode()
}

// Play runs ansible-playbook like Exec, and then ends the connections that its ssh keeps open for
// reuse. Those of another playbook that runs at the same time stay.
func Play(ctx context.Context, c Command, stdout, stderr io.Writer) (int, error) {
	defer closeMasters(c.Env)
	return Exec(ctx, KillAfter, c, stdout, stderr)
}

// ControlPaths is the variable of the environment that names the folder with the control sockets of ssh.
const ControlPaths = "ANSIBLE_SSH_CONTROL_PATH_DIR"

// closeMasters ends the connections whose control sockets are in the folder that a playbook's
// environment names. The processes of these connections run in other sessions, so a signal to the
// process group does not reach them.
func closeMasters(env []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, variable := range env {
		folder, named := strings.CutPrefix(variable, ControlPaths+"=")
		if !named {
			continue
		}
		sockets, _ := filepath.Glob(filepath.Join(folder, "*"))
		for _, socket := range sockets {
			_ = exec.CommandContext(ctx, "ssh", "-O", "exit", "-o", "ControlPath="+socket, "host").Run()
		}
	}
}
