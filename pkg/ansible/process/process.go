package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// KillAfter is how long a playbook may take to end after it was asked to; Kubernetes gives the pod 30 s altogether.
const KillAfter = 10 * time.Second

// Command is a process to run.
type Command struct {
	Dir  string
	Args []string // the program first
	Env  []string
}

// Signalled is added to the number of the signal that ended a process, as shells do.
const Signalled = 128

// Exec runs a command as a process of its own group and returns its exit status, 128 and the signal's number if one ended it. When the context ends the whole group is asked to end,
// and killed after killAfter; either way nothing of it stays behind.
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
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what the leader left behind
	var exit *exec.ExitError
	switch {
	case err == nil, errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return status(cmd.ProcessState), nil
	case ctx.Err() != nil:
		return -1, nil // the caller knows why
	}
	return 0, err
}

func status(state *os.ProcessState) int {
	if wait, ok := state.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return Signalled + int(wait.Signal())
	}
	return state.ExitCode()
}

// CloseMasters ends the connections that ssh keeps open for reuse: they are in sessions of their own, which no group's end reaches.
func CloseMasters(scratch string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	sockets, _ := filepath.Glob(filepath.Join(scratch, "cp", "*"))
	for _, socket := range sockets {
		_ = exec.CommandContext(ctx, "ssh", "-O", "exit", "-o", "ControlPath="+socket, "host").Run()
	}
}
