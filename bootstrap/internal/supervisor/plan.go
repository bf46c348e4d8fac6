package supervisor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
)

// Component describes one program to keep running.
type Component struct {
	Name  string   `json:"name"`
	Args  []string `json:"args"`            // Args[0] is the program's path
	Env   []string `json:"env,omitempty"`   // added to the supervisor's own environment
	Needs []string `json:"needs,omitempty"` // components that must be ready before the first start
	// Notify is set if the component is ready only after it has sent READY=1 to its NOTIFY_SOCKET.
	Notify bool `json:"notify,omitempty"`
	// Health is a URL that must answer 200 before the component is ready; empty means no check. TLS
	// certificates are not verified, because the URL is always on this machine. grpc+unix://PATH asks the health
	// service of gRPC at a socket.
	Health string `json:"health,omitempty"`
	// Live is a URL that must keep answering 200 as long as the component runs; empty means that of Health. It may ask
	// less than Health: no restart helps a component that waits for another one.
	Live string `json:"live,omitempty"`
	// Inputs are the files (configuration, keys, the program) whose change requires a restart.
	Inputs []string `json:"inputs,omitempty"`
	// Grace is the time between SIGTERM and SIGKILL; 0 means 10 s.
	Grace time.Duration `json:"grace,omitempty"`
	// User is the user as whom the program runs; empty means root. Reads are files of root that its group may read, and
	// Owns are folders and files that belong to it with all that is in them.
	User  string   `json:"user,omitempty"`
	Reads []string `json:"reads,omitempty"`
	Owns  []string `json:"owns,omitempty"`
}

// Plan lists all components that a supervisor runs.
type Plan struct {
	Components []Component `json:"components"`
}

// ReadPlan reads a plan that Write has stored, and checks its order.
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

// Write stores the plan, all or nothing, in a file that the supervisor reads.
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
	if err := disk.WriteFile(path, raw, 0o600); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// Order returns the component names so that each comes after all components that it needs. It
// returns an error if a needed component is missing or if components need each other in a cycle,
// because such a component would wait forever.
func (p Plan) Order() ([]string, error) {
	left := map[string]Component{}
	for _, c := range p.Components {
		if _, twice := left[c.Name]; twice || c.Name == "" || len(c.Args) == 0 {
			return nil, fmt.Errorf("plan: component %q has no name, has no program or is listed twice", c.Name)
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
			return nil, fmt.Errorf("plan: %d components need a missing component or form a cycle", len(left))
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

// fingerprint returns a hash that changes when the component must restart: when its description or
// one of its inputs changes.
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

func (c Component) live() string { return cmp.Or(c.Live, c.Health) }

func (c Component) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return 10 * time.Second
}
