package supervisor

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// launcher starts all children from one operating system thread that runs as long as the
// supervisor. This is necessary because the kernel sends the parent-death signal when the thread
// that started the child ends, and not when the process ends.
type launcher struct{ requests chan launchRequest }

type launchRequest struct {
	cmd    *exec.Cmd
	result chan error
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan launchRequest)}
	go func() {
		runtime.LockOSThread()
		for r := range l.requests {
			r.result <- r.cmd.Start()
		}
		select {} // keep the thread: if it ended, the kernel would kill the children
	}()
	return l
}

// start starts cmd in its own process group, so that Ctrl-C in a terminal does not reach it. The
// kernel kills the child when the supervisor ends. Without a user, the child runs as that of the supervisor.
func (l *launcher) start(cmd *exec.Cmd, user *syscall.Credential) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: user}
	cmd.WaitDelay = 2 * time.Second // grandchildren (container shims) can keep the log pipe open
	r := launchRequest{cmd: cmd, result: make(chan error, 1)}
	l.requests <- r
	return <-r.result
}
