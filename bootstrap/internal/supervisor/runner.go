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

// runner keeps one component running until its context ends.
type runner struct {
	component   Component
	fingerprint string // fingerprint of the component when this runner was created
	board       *board
	launcher    *launcher
	log         io.Writer
	liveness    liveness
	cancel      context.CancelFunc
	done        chan struct{}
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
		wait = nextBackoff(wait, time.Since(began))
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

// once runs the program until it exits, and stops it when ctx ends. The returned error describes
// the exit; it is nil after a stop.
func (r *runner) once(ctx context.Context) error {
	socket, err := listenNotify(r.component.Name)
	if err != nil {
		return err
	}
	defer socket.close()
	cmd := exec.Command(r.component.Args[0], r.component.Args[1:]...)
	cmd.Env = append(append(os.Environ(), r.component.Env...), "NOTIFY_SOCKET="+socket.addr)
	cmd.Stdout, cmd.Stderr = r.log, r.log
	account, err := r.component.account()
	if err != nil {
		return fmt.Errorf("start %s: %w", r.component.Name, err)
	}
	if err := r.launcher.start(cmd, account); err != nil {
		return fmt.Errorf("start %s: %w", r.component.Args[0], err)
	}
	r.phase(Starting, cmd.Process.Pid)

	running, ended := context.WithCancel(ctx)
	defer ended()
	hung := make(chan error, 1)
	go r.watch(running, socket, cmd.Process.Pid, hung)
	exit := make(chan error, 1)
	go func() { exit <- cmd.Wait() }()
	select {
	case err := <-exit:
		return exitError(cmd, err)
	case err := <-hung:
		r.stop(cmd.Process, exit)
		return err
	case <-ctx.Done():
		r.stop(cmd.Process, exit)
		return nil
	}
}

// watch sets the phase to Ready when the program is ready, and then probes it until it hangs. It changes nothing if the
// program has ended by then. The context running ends when the program ends.
func (r *runner) watch(running context.Context, socket *notifySocket, pid int, hung chan<- error) {
	if r.component.Notify && !socket.wait(pid) {
		return
	}
	if r.component.Health != "" && !healthy(running, r.component.Health) {
		return
	}
	r.move(pid, Starting, Ready)
	if r.component.live() != "" {
		r.probe(running, pid, hung)
	}
}

// probe asks the program again and again. When it has not answered for too long, probe sends the reason to hung.
func (r *runner) probe(running context.Context, pid int, hung chan<- error) {
	tick := time.NewTicker(r.liveness.every)
	defer tick.Stop()
	began, failures := time.Time{}, 0
	for {
		select {
		case <-tick.C:
		case <-running.Done():
			return
		}
		asked := time.Now()
		ctx, cancel := context.WithTimeout(running, r.liveness.limit)
		ok := probe(ctx, r.component.live())
		cancel()
		if ok {
			failures = 0
			r.move(pid, Unhealthy, Ready)
			continue
		}
		if failures++; failures == 1 {
			began = asked
		}
		if failures == r.liveness.unhealthy {
			r.move(pid, Ready, Unhealthy)
		}
		if failures >= r.liveness.hung {
			hung <- fmt.Errorf("no answer from %s for %s", r.component.live(), time.Since(began).Round(time.Second))
			return
		}
	}
}

// move changes the phase of the program from one to another. It does nothing if the program has another phase, or has
// ended.
func (r *runner) move(pid int, from, to Phase) {
	r.board.update(r.component.Name, func(s *Status) {
		if s.PID == pid && s.Phase == from {
			s.Phase = to
		}
	})
}

// stop sends SIGTERM to the program. If the program does not end within the grace period, stop
// kills its whole process group.
func (r *runner) stop(process *os.Process, exit <-chan error) {
	began, result := time.Now(), "exited"
	_ = process.Signal(syscall.SIGTERM)
	select {
	case <-exit:
	case <-time.After(r.component.grace()):
		result = "was killed"
		_ = syscall.Kill(-process.Pid, syscall.SIGKILL)
		<-exit
	}
	fmt.Fprintf(r.log, "supervisor: sent SIGTERM to %s, which %s after %s\n", r.component.Name, result, time.Since(began).Round(time.Millisecond))
}

// exitError describes how the program ended. err is the result of cmd.Wait.
func exitError(cmd *exec.Cmd, err error) error {
	if cmd.ProcessState != nil {
		return fmt.Errorf("%s", cmd.ProcessState)
	}
	return err
}

func (r *runner) phase(p Phase, pid int) {
	r.board.update(r.component.Name, func(s *Status) { s.Phase, s.PID = p, pid })
}

func (r *runner) exited(err error, wait time.Duration) {
	fmt.Fprintf(r.log, "supervisor: %s ended (%v), restart in %s\n", r.component.Name, err, wait)
	r.board.update(r.component.Name, func(s *Status) {
		s.Phase, s.PID, s.Exit = BackingOff, 0, fmt.Sprint(err)
	})
}
