package supervisor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// StartComponent starts a component that StopComponent has stopped, and those that it needs. Without a name, it starts
// all. It does not wait for readiness.
func (s *Supervisor) StartComponent(name string) error {
	return s.control(name, func() error {
		for _, n := range s.order {
			if name == "" || n == name || s.needs(name, n) {
				delete(s.held, n)
			}
		}
		return s.ensureAll()
	})
}

// StopComponent stops a component, and before it those that need it. They stay stopped until StartComponent, or until
// the supervisor starts again.
func (s *Supervisor) StopComponent(name string) error {
	return s.control(name, func() error {
		for _, n := range slices.Backward(s.order) {
			if n == name || s.needs(n, name) {
				s.held[n] = true
				s.halt(n)
			}
		}
		return nil
	})
}

// RestartComponent stops a component and starts it again. Those that need it keep running and connect again, as they do
// after its crash.
func (s *Supervisor) RestartComponent(name string) error {
	return s.control(name, func() error {
		s.halt(name)
		delete(s.held, name)
		return s.ensureAll()
	})
}

// control calls do while no other change is made, if there is a component of this name, or if the name is empty.
func (s *Supervisor) control(name string, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("supervisor is stopping")
	}
	if _, known := s.plan[name]; name != "" && !known {
		return fmt.Errorf("there is no component %q; the components are %s", name, strings.Join(s.order, ", "))
	}
	return do()
}

// needs reports whether component a needs component b, also by way of others.
func (s *Supervisor) needs(a, b string) bool {
	return slices.ContainsFunc(s.plan[a].Needs, func(n string) bool { return n == b || s.needs(n, b) })
}
