package installsoftware

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/software"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// memory is a Store.
type memory struct {
	mu   sync.Mutex
	data map[string]string
	err  error
}

func (m *memory) Get(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data[key], m.err
}

func (m *memory) Set(_ context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		m.data = map[string]string{}
	}
	m.data[key] = value
	return nil
}

// fixture is a cluster of master-1, worker-1 and worker-2, whose nodes answer the playbooks.
type fixture struct {
	t        *testing.T
	in       Input
	record   memory
	other    memory
	log      strings.Builder
	did      []string                     // in their order
	has      map[string]map[string]string // versions by node and package
	silent   map[string]bool              // nodes that do not answer by SSH
	fails    map[string]string            // errors of packages
	states   map[string]State
	drains   map[string]error
	entered  int
	left     int
	onPlay   func(name string, nodes []string)
	onStates func(calls int) // before the cluster says its states
	calls    int
	reboots  bool              // nodes that are rebooted come back
	noPause  bool              // Ports.Pause is nil
	podless  map[string]string // why nodes start no pod
	started  []string          // the nodes on which a pod was started
	sick     func() error      // what etcd says before a control plane is missed; nil: it can be
	hangs    string            // the node that never ends a change of its packages
}

func newFixture(t *testing.T) *fixture {
	w := &fixture{t: t, has: map[string]map[string]string{}, silent: map[string]bool{}, fails: map[string]string{}, states: map[string]State{}, drains: map[string]error{}, reboots: true}
	w.in = Input{
		Run: "edge-1-software-1", ScratchDir: t.TempDir(), PlaybooksDir: t.TempDir(), ReadyLimit: 5 * time.Second, Limits: software.DefaultLimits,
		Cluster: node.Cluster{PrivateKey: []byte("key"), HostsINI: []byte("[all]\n"), GroupVars: []byte("{}"),
			Request: contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site", DepotURL: "http://depot.local"}, Order: contract.Order{Software: &contract.SoftwareRun{Batch: 1, DrainSeconds: 60}}},
			Nodes: []contract.Node{
				{Name: "master-1", HostUID: "uid-1", Address: "10.0.0.1", Roles: []string{contract.RoleControlPlane}},
				{Name: "worker-1", HostUID: "uid-2", Address: "10.0.0.2", Roles: []string{contract.RoleWorker}},
				{Name: "worker-2", HostUID: "uid-3", Address: "10.0.0.3", Roles: []string{contract.RoleWorker}},
			}},
	}
	for _, n := range w.in.Nodes {
		w.has[n.Name] = map[string]string{}
		w.states[n.Name] = State{Ready: true, Boot: "boot-1"}
		w.in.Request.Software.Nodes = append(w.in.Request.Software.Nodes, n.Name)
	}
	return w
}

// wants sets the packages of all nodes: their names, and behind a colon their disruption.
func (w *fixture) wants(packages ...string) *fixture {
	w.in.Request.Software.Packages = nil
	for _, p := range packages {
		name, disruption, _ := strings.Cut(p, ":")
		w.in.Request.Software.Packages = append(w.in.Request.Software.Packages,
			contract.Software{Name: name, ControlPlanes: true, Workers: true, Disruption: contract.Disruption(disruption)})
	}
	return w
}

func (w *fixture) run(ctx context.Context) (Output, error) {
	w.did = nil
	ports := Ports{
		Enter: func(context.Context, Input, io.Writer) (Cluster, func(), error) {
			w.entered++
			return w, func() { w.left++ }, nil
		},
		Spares: func(_ context.Context, _ Input, planes []contract.Node, n contract.Node) error {
			if w.sick == nil {
				return nil
			}
			w.did = append(w.did, "ask etcd about "+n.Name+" on "+names(planes))
			return w.sick()
		},
		StartPods: func(_ context.Context, _ Input, nodes []string, _ io.Writer) (map[string]string, error) {
			w.started = append(w.started, nodes...)
			failed := map[string]string{}
			for _, name := range nodes {
				if why, bad := w.podless[name]; bad {
					failed[name] = why
				}
			}
			return failed, nil
		},
		Playbook: w.play, KnownHosts: &w.other, Progress: &w.other, Record: &w.record, Log: &w.log,
		Now:   func() time.Time { return time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC) },
		Pause: func(ctx context.Context) bool { return false }, // the time is over at once
	}
	if w.noPause {
		ports.Pause = nil
	}
	return Run(ctx, w.in, ports)
}

// play answers ansible-playbook.
func (w *fixture) play(ctx context.Context, c process.Command, stdout, _ io.Writer) (int, error) {
	name := c.Args[len(c.Args)-1]
	nodes := strings.Split(c.Args[slices.Index(c.Args, "--limit")+1], ",")
	w.did = append(w.did, name+" "+strings.Join(nodes, ","))
	if w.onPlay != nil {
		w.onPlay(name, nodes)
	}
	var vars struct {
		Requests map[string]string `json:"software_requests"`
		Answers  string            `json:"software_answers"`
	}
	raw, err := os.ReadFile(strings.TrimPrefix(c.Args[slices.Index(c.Args, "-e")+1], "@"))
	if err != nil || json.Unmarshal(raw, &vars) != nil {
		return 0, fmt.Errorf("variables %s: %w", raw, err)
	}
	stats := map[string]map[string]int{}
	for _, node := range nodes {
		if node == w.hangs && name == "apply.yml" {
			defer func() { <-ctx.Done() }()
			continue
		}
		stats[node] = map[string]int{"ok": 1}
		if w.silent[node] {
			fmt.Fprintf(stdout, `{"_event":"v2_runner_on_unreachable","hosts":{%q:{"unreachable":true,"msg":"no route"}},"task":{"name":"do"}}`+"\n", node)
			stats[node] = map[string]int{"unreachable": 1}
		} else if name == "reboot.yml" {
			if s := w.states[node]; w.reboots {
				w.states[node] = State{Ready: s.Ready, Boot: s.Boot + "+", Cordoned: s.Cordoned, Ours: s.Ours}
			}
		} else if err := w.answer(node, vars.Requests[node], filepath.Join(vars.Answers, node)); err != nil {
			return 0, err
		}
	}
	text, err := json.Marshal(map[string]any{"_event": "v2_playbook_on_stats", "stats": stats})
	fmt.Fprintf(stdout, "%s\n", text)
	return 0, err
}

// answer does what the module does on a node.
func (w *fixture) answer(node, encoded, path string) error {
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	var request struct {
		Packages []struct{ Name string }
		Actions  []software.Action
	}
	if err := json.Unmarshal(plain, &request); err != nil {
		return err
	}
	seen := software.Seen{Manager: "apt", Architecture: "amd64", Packages: map[string]software.SeenPackage{}, Errors: map[string]string{}}
	for _, a := range request.Actions {
		switch message := w.fails[a.Name]; {
		case message != "":
			seen.Errors[a.Name] = message
		case a.Do == "remove":
			delete(w.has[node], a.Name)
		default:
			w.has[node][a.Name] = "1.0"
		}
	}
	for _, p := range request.Packages {
		s := software.SeenPackage{Native: w.has[node][p.Name], Candidate: "1.0"}
		if p.Name == "none" {
			s.Candidate = ""
		}
		seen.Packages[p.Name] = s
	}
	text, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(text)), 0o600)
}

func (w *fixture) States(context.Context) (map[string]State, error) {
	if w.calls++; w.onStates != nil {
		w.onStates(w.calls)
	}
	all := map[string]State{}
	for name, s := range w.states {
		all[name] = s
	}
	return all, nil
}

func (w *fixture) Cordon(_ context.Context, name string) error {
	w.did = append(w.did, "cordon "+name)
	return nil
}

func (w *fixture) Uncordon(_ context.Context, name string) error {
	w.did = append(w.did, "uncordon "+name)
	return nil
}

func (w *fixture) Drain(_ context.Context, name string, _ time.Duration) error {
	w.did = append(w.did, "drain "+name)
	return w.drains[name]
}

// rows returns the record as "node package State: message".
func (w *fixture) rows() (all []string) {
	w.t.Helper()
	var record contract.SoftwareRecord
	if err := json.Unmarshal([]byte(w.record.data[contract.KeySoftware]), &record); err != nil {
		w.t.Fatal(err)
	}
	for _, n := range record.Nodes {
		for _, row := range n.Packages {
			text := fmt.Sprintf("%s %s %s", n.Node, row.Name, row.State)
			if row.Message != "" {
				text += ": " + row.Message
			}
			all = append(all, text)
		}
	}
	return all
}

func reasonOf(err error) contract.Reason { return task.FailureOf(err).Reason }
