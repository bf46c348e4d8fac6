package supervisor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
)

const logLimit = 16 << 20 // bytes per log file; one older file is kept

// Supervisor runs one plan at a time.
type Supervisor struct {
	logDir   string
	board    *board
	launcher *launcher
	liveness liveness

	mu      sync.Mutex // protects the fields below, and serializes Apply and Stop
	plan    map[string]Component
	runners map[string]*runner
	held    map[string]bool // components that StopComponents has stopped
	order   []string
	logs    map[string]*logFile
	stopped bool
}

// New returns a supervisor whose components log to <logDir>/<name>.log.
func New(logDir string) *Supervisor {
	return &Supervisor{
		logDir: logDir, board: newBoard(), launcher: newLauncher(), liveness: defaultLiveness,
		runners: map[string]*runner{}, held: map[string]bool{}, logs: map[string]*logFile{},
	}
}

// Apply makes the running components match the plan: it starts new components, restarts changed
// ones, stops removed ones, and leaves the others as they are. It does not wait for readiness.
func (s *Supervisor) Apply(plan Plan) error {
	order, err := plan.Order()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("supervisor is stopping")
	}
	wanted := map[string]Component{}
	for _, c := range plan.Components {
		wanted[c.Name] = c
	}
	for _, name := range slices.Backward(s.order) {
		c, keep := wanted[name]
		if r, running := s.runners[name]; running && (!keep || c.fingerprint() != r.fingerprint) {
			s.halt(name)
		}
		if !keep {
			s.board.remove(name)
			delete(s.held, name)
		}
	}
	s.order, s.plan = order, wanted
	return s.ensureAll()
}

// ensureAll starts the components that do not run, except those that are held.
func (s *Supervisor) ensureAll() error {
	for _, name := range s.order {
		if s.held[name] {
			continue
		}
		if err := s.ensure(s.plan[name]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Supervisor) ensure(c Component) error {
	if _, running := s.runners[c.Name]; running {
		return nil
	}
	log, err := s.log(c.Name)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &runner{component: c, fingerprint: c.fingerprint(), board: s.board, launcher: s.launcher, log: log, liveness: s.liveness, cancel: cancel, done: make(chan struct{})}
	s.runners[c.Name] = r
	s.board.update(c.Name, func(st *Status) { st.Phase = Waiting })
	go r.run(ctx)
	return nil
}

func (s *Supervisor) log(name string) (*logFile, error) {
	if l, open := s.logs[name]; open {
		return l, nil
	}
	l, err := openLog(filepath.Join(s.logDir, name+".log"), logLimit)
	if err == nil {
		s.logs[name] = l
	}
	return l, err
}

func (s *Supervisor) halt(name string) {
	if r, running := s.runners[name]; running {
		r.cancel()
		<-r.done
		delete(s.runners, name)
	}
}

// Stop stops every component before the components that it needs, and returns when all have ended.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for _, name := range slices.Backward(s.order) {
		s.halt(name)
	}
	for _, l := range s.logs {
		l.Close()
	}
	s.logs = map[string]*logFile{}
}

// Status lists the components. Each comes after the components that it needs.
func (s *Supervisor) Status() []Status {
	all, _ := s.board.snapshot()
	s.mu.Lock()
	order := slices.Clone(s.order)
	s.mu.Unlock()
	list := make([]Status, 0, len(order))
	for _, name := range order {
		list = append(list, all[name])
	}
	return list
}

// AwaitReady returns when every named component is ready. Without names, it waits for all
// components. When ctx ends first, the error contains the name and the log file of a component that
// is not ready.
func (s *Supervisor) AwaitReady(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		s.mu.Lock()
		names = slices.Clone(s.order)
		s.mu.Unlock()
	}
	err := s.board.await(ctx, func(all map[string]Status) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return all[n].Phase != Ready })
	})
	if err == nil {
		return nil
	}
	all, _ := s.board.snapshot()
	for _, n := range names {
		if st := all[n]; st.Phase != Ready {
			return fmt.Errorf("%s is %s (%s): %w; see %s", n, st.Phase, st.Exit, err, filepath.Join(s.logDir, n+".log"))
		}
	}
	return err
}
