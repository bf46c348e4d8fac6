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
	"time"

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

// Serve runs the plan until ctx ends or a client sends a stop command. Then it stops all
// components. Only one daemon can run per lock file: otherwise Serve returns ErrRunning.
func Serve(ctx context.Context, p Paths) error {
	lock, err := acquire(p.Lock)
	if err != nil {
		return err
	}
	defer lock.Close() // unlocks the file; clients wait for the lock to know that every component has ended
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
	<-ctx.Done()
	s.Stop()
	return server.Close()
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
		_ = json.NewEncoder(w).Encode(report{PID: os.Getpid(), Components: s.Status()})
	})
	mux.HandleFunc("POST /reload", func(w http.ResponseWriter, _ *http.Request) {
		plan, err := ReadPlan(p.Plan)
		if err == nil {
			err = s.Apply(plan)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /stop", func(http.ResponseWriter, *http.Request) { stop() })
	return mux
}

// report is the answer to GET /status.
type report struct {
	PID        int      `json:"pid"`
	Components []Status `json:"components"`
}
