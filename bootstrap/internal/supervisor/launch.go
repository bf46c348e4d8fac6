package supervisor

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// launcher starts children from one operating system thread that lives as long as the supervisor: the kernel sends
// the parent-death signal when the starting thread ends, not the process.
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
		select {} // the thread stays: its end would kill the children
	}()
	return l
}

// start runs cmd in a process group of its own (a terminal's ^C is not for it) that dies with the supervisor.
func (l *launcher) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 2 * time.Second // grandchildren (container shims) may hold the log pipe open
	r := launchRequest{cmd: cmd, result: make(chan error, 1)}
	l.requests <- r
	return <-r.result
}
