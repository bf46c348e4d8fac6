package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Component is one program to keep running.
type Component struct {
	Name  string   `json:"name"`
	Args  []string `json:"args"`            // Args[0] is the program's path
	Env   []string `json:"env,omitempty"`   // added to the supervisor's own environment
	Needs []string `json:"needs,omitempty"` // components that must be ready before the first start
	// Notify: not ready before the program itself has sent READY=1 to its NOTIFY_SOCKET.
	Notify bool `json:"notify,omitempty"`
	// Health: not ready before this URL has answered 200. Certificates are not checked: it is always on this machine.
	Health string `json:"health,omitempty"`
	// Inputs are files (configuration, keys, the program) whose change means that the component must restart.
	Inputs []string `json:"inputs,omitempty"`
	// Grace is the time between SIGTERM and SIGKILL; 0 means 10 s.
	Grace time.Duration `json:"grace,omitempty"`
}

// Plan is all that a supervisor runs.
type Plan struct {
	Components []Component `json:"components"`
}

// ReadPlan reads what Write wrote.
func ReadPlan(path string) (Plan, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	var p Plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return Plan{}, fmt.Errorf("parse plan %s: %w", path, err)
	}
	_, err = p.Order()
	return p, err
}

// Write stores the plan for a supervisor to read, whole or not at all.
func (p Plan) Write(path string) error {
	if _, err := p.Order(); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return os.Rename(path+".new", path)
}

// Order gives the component names so that each comes after all it needs. A need that nobody meets, or that goes in a
// circle, is an error: such a component would wait for ever.
func (p Plan) Order() ([]string, error) {
	left := map[string]Component{}
	for _, c := range p.Components {
		if _, twice := left[c.Name]; twice || c.Name == "" || len(c.Args) == 0 {
			return nil, fmt.Errorf("plan: component %q is unnamed, without a program or there twice", c.Name)
		}
		left[c.Name] = c
	}
	var order []string
	done := map[string]bool{}
	for len(left) > 0 {
		before := len(order)
		for _, c := range p.Components { // the plan's own order keeps the result stable
			if _, todo := left[c.Name]; todo && all(c.Needs, done) {
				order, done[c.Name] = append(order, c.Name), true
				delete(left, c.Name)
			}
		}
		if len(order) == before {
			return nil, fmt.Errorf("plan: %d components need something that is missing or needs them in turn", len(left))
		}
	}
	return order, nil
}

func all(names []string, in map[string]bool) bool {
	for _, n := range names {
		if !in[n] {
			return false
		}
	}
	return true
}

// fingerprint changes when the component must be restarted: its own description or one of its inputs.
func (c Component) fingerprint() string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(c)
	for _, path := range c.Inputs {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(h, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		} else {
			fmt.Fprintf(h, "%s absent\n", path)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c Component) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return 10 * time.Second
}
