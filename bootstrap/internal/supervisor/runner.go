package supervisor

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// runner keeps one component alive until its context ends.
type runner struct {
	component Component
	print     string // fingerprint of the component when the runner was made
	board     *board
	launcher  *launcher
	log       io.Writer
	cancel    context.CancelFunc
	done      chan struct{}
}

func (r *runner) run(ctx context.Context) {
	defer close(r.done)
	defer r.phase(Stopped, 0)
	r.phase(Waiting, 0)
	if r.board.await(ctx, r.needsMet) != nil {
		return
	}
	var wait time.Duration
	for ctx.Err() == nil {
		began := time.Now()
		err := r.once(ctx)
		if ctx.Err() != nil {
			return
		}
		wait = pause(wait, time.Since(began))
		r.exited(err, wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		r.board.update(r.component.Name, func(s *Status) { s.Restarts++ })
	}
}

func (r *runner) needsMet(all map[string]Status) bool {
	for _, need := range r.component.Needs {
		if all[need].Phase != Ready {
			return false
		}
	}
	return true
}

// once runs the program until it exits, and ends it when ctx ends.
func (r *runner) once(ctx context.Context) error {
	socket, err := listenNotify(r.component.Name)
	if err != nil {
		return err
	}
	defer socket.close()
	cmd := exec.Command(r.component.Args[0], r.component.Args[1:]...)
	cmd.Env = append(append(os.Environ(), r.component.Env...), "NOTIFY_SOCKET="+socket.addr)
	cmd.Stdout, cmd.Stderr = r.log, r.log
	if err := r.launcher.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", r.component.Args[0], err)
	}
	r.phase(Starting, cmd.Process.Pid)

	life, dead := context.WithCancel(ctx)
	defer dead()
	go r.watchReady(life, socket, cmd.Process.Pid)
	exit := make(chan error, 1)
	go func() { exit <- cmd.Wait() }()
	select {
	case err := <-exit:
		return describe(cmd, err)
	case <-ctx.Done():
		r.stop(cmd.Process, exit)
		return nil
	}
}

// watchReady sets the phase once the program is ready; it leaves no trace of a program that has ended meanwhile.
func (r *runner) watchReady(life context.Context, socket *notifySocket, pid int) {
	if r.component.Notify && !socket.wait(pid) {
		return
	}
	if r.component.Health != "" && !healthy(life, r.component.Health) {
		return
	}
	r.board.update(r.component.Name, func(s *Status) {
		if s.PID == pid && s.Phase == Starting {
			s.Phase = Ready
		}
	})
}

// stop asks the program to end and, when it does not in time, kills it with the helpers in its process group.
func (r *runner) stop(process *os.Process, exit <-chan error) {
	began, manner := time.Now(), "ended"
	_ = process.Signal(syscall.SIGTERM)
	select {
	case <-exit:
	case <-time.After(r.component.grace()):
		manner = "was killed"
		_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
		<-exit
	}
	fmt.Fprintf(r.log, "supervisor: %s was told to end and %s after %s\n", r.component.Name, manner, time.Since(began).Round(time.Millisecond))
}

func describe(cmd *exec.Cmd, err error) error {
	if cmd.ProcessState != nil {
		return fmt.Errorf("%s", cmd.ProcessState)
	}
	return err
}

func (r *runner) phase(p Phase, pid int) {
	r.board.update(r.component.Name, func(s *Status) { s.Phase, s.PID = p, pid })
}

func (r *runner) exited(err error, wait time.Duration) {
	fmt.Fprintf(r.log, "supervisor: %s ended (%v), next start in %s\n", r.component.Name, err, wait)
	r.board.update(r.component.Name, func(s *Status) {
		s.Phase, s.PID, s.Exit = Pausing, 0, fmt.Sprint(err)
	})
}
