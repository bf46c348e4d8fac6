package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// Paths are the files that a daemon and its clients share.
type Paths struct {
	Plan   string // plan file, read at start and at each reload
	Socket string // Unix socket for commands
	Lock   string // locked while the daemon runs
	Logs   string // folder for the logs of components
}

// ErrRunning reports that another daemon holds the lock.
var ErrRunning = errors.New("a supervisor is already running")

// Hooks are what a daemon does beside its components.
type Hooks struct {
	// Prepare runs before the first component starts, and never while another daemon runs.
	Prepare func(context.Context) error
	// Maintain runs every MaintainEvery and reports whether it has changed files that components read: these restart
	// then. An error is reported, and ends nothing.
	Maintain      func(context.Context) (changed bool, err error)
	MaintainEvery time.Duration
}

// Serve runs the plan until ctx ends or a client sends a stop command. Then it stops all
// components. Only one daemon can run per lock file: otherwise Serve returns ErrRunning.
// Serve reports to systemd, if systemd has started it, that it is ready for commands, and then that it works.
func Serve(ctx context.Context, p Paths, hooks Hooks) error {
	lock, err := acquire(p.Lock)
	if err != nil {
		return err
	}
	defer lock.Close() // unlocks the file; clients wait for the lock to know that every component has ended
	if hooks.Prepare != nil {
		if err := hooks.Prepare(ctx); err != nil {
			return err
		}
	}
	plan, err := ReadPlan(p.Plan)
	if err != nil {
		return err
	}
	_ = os.Remove(p.Socket) // a daemon that died can have left its socket; none runs now, because this one holds the lock
	listener, err := net.Listen("unix", p.Socket)
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := New(p.Logs)
	if err := s.Apply(plan); err != nil {
		return err
	}
	server := &http.Server{Handler: handler(s, p, stop), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	go beat(ctx, NewClient(p))
	var maintaining sync.WaitGroup
	maintaining.Go(func() { maintain(ctx, s, p, hooks) })
	<-ctx.Done()
	maintaining.Wait() // so that it changes nothing after the components have ended
	s.Stop()
	return server.Close()
}

// beat tells systemd that the daemon works, as long as the daemon answers. Without an answer for the time of the
// watchdog, systemd kills the daemon and starts another one.
func beat(ctx context.Context, client *Client) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit == 0 {
		return
	}
	tick := time.NewTicker(limit / 4)
	defer tick.Stop()
	for {
		if _, _, err := client.Status(ctx); err == nil {
			_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// maintain runs the hook until ctx ends.
func maintain(ctx context.Context, s *Supervisor, p Paths, hooks Hooks) {
	if hooks.Maintain == nil {
		return
	}
	tick := time.NewTicker(hooks.MaintainEvery)
	defer tick.Stop()
	for reported := ""; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		changed, err := hooks.Maintain(ctx)
		if changed {
			err = errors.Join(err, reload(s, p))
		}
		switch {
		case ctx.Err() != nil:
		case err == nil:
			reported = ""
		case err.Error() != reported: // an error that stays is reported once
			reported = err.Error()
			fmt.Fprintf(os.Stderr, "%s maintain: %v\n", time.Now().Format(time.RFC3339), err)
		}
	}
}

// Hold keeps daemons with these paths from starting, until release is called. If one runs, it returns ErrRunning.
func Hold(p Paths) (release func() error, err error) {
	lock, err := acquire(p.Lock)
	if err != nil {
		return nil, err
	}
	return lock.Close, nil
}

func reload(s *Supervisor, p Paths) error {
	plan, err := ReadPlan(p.Plan)
	if err != nil {
		return err
	}
	return s.Apply(plan)
}

func acquire(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, ErrRunning
	}
	return file, nil
}

func handler(s *Supervisor, p Paths, stop context.CancelFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(report{PID: os.Getpid(), Protocol: protocol, Components: s.Status()})
	})
	mux.HandleFunc("POST /reload", answer(func(*http.Request) error { return reload(s, p) }))
	for action, do := range map[string]func(string) error{"start": s.StartComponent, "stop": s.StopComponent, "restart": s.RestartComponent} {
		mux.HandleFunc("POST /components/"+action, answer(func(r *http.Request) error { return do(r.URL.Query().Get("name")) }))
	}
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { stop() })
	return mux
}

// answer returns a handler that reports the error of do.
func answer(do func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// protocol is raised when plans or commands change so that an older daemon does not understand them.
const protocol = 3

// report is the answer to GET /status.
type report struct {
	PID        int      `json:"pid"`
	Protocol   int      `json:"protocol"`
	Components []Status `json:"components"`
}
