package installplugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/cluster"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// memory is a Store.
type memory struct {
	mu   sync.Mutex
	data map[string]string
	// writes has each value of the key with the states.
	writes []string
}

func (m *memory) Get(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data[key], nil
}

func (m *memory) Set(_ context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		m.data = map[string]string{}
	}
	m.data[key] = value
	if key == contract.KeyPlugins {
		m.writes = append(m.writes, value)
	}
	return nil
}

// fakeCluster records what the task does to the cluster. It has the sets that were applied.
type fakeCluster struct {
	done    []string
	has     map[string]int // number of objects by plugin
	fails   map[string]error
	tests   map[string]contract.PluginTest
	onApply func(plugin string)
}

func (f *fakeCluster) call(verb, name string) error {
	f.done = append(f.done, verb+" "+name)
	return f.fails[verb+" "+name]
}

func (f *fakeCluster) Plugins(context.Context) (all []string, err error) {
	for name := range f.has {
		all = append(all, name)
	}
	return all, nil
}

func (f *fakeCluster) Apply(_ context.Context, s cluster.Set, _ cluster.Limits) error {
	if f.onApply != nil {
		f.onApply(s.Plugin)
	}
	if err := f.call("apply", s.Plugin); err != nil {
		return err
	}
	f.has[s.Plugin] = len(s.Objects)
	return nil
}

func (f *fakeCluster) Ready(_ context.Context, name string, _ []*unstructured.Unstructured, _ time.Duration) error {
	return f.call("ready", name)
}

func (f *fakeCluster) Test(_ context.Context, name string, _ []*unstructured.Unstructured, _ time.Duration, _ cluster.Limits) (contract.PluginTest, error) {
	err := f.call("test", name)
	if result, ok := f.tests[name]; ok {
		return result, err
	}
	return contract.PluginTest{State: contract.TestPassed, Message: "ok"}, err
}

func (f *fakeCluster) Remove(_ context.Context, name string, _ cluster.Limits) ([]string, error) {
	err := f.call("remove", name)
	if err == nil {
		delete(f.has, name)
	}
	return nil, err
}

// fixture is a task with plugins of its own: base, upper (needs base), top (needs upper), lonely and nodes,
// which has playbooks.
type fixture struct {
	t       *testing.T
	in      Input
	catalog plugin.Catalog
	cluster *fakeCluster
	depot   *client.Depot // nil: it refuses connections
	record  memory
	known   memory
	other   memory
	log     strings.Builder
	plays   []process.Command
	extra   []string // the variables of each play
	play    func(ctx context.Context, stdout io.Writer) int
	left    int
	now     time.Time
}

const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"

const jobs = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: check}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'registry.example/check:v1'}]}}}\n"

func newFixture(t *testing.T) *fixture {
	dir := fstest.MapFS{}
	add := func(name, more string, files ...string) {
		dir[name+"/plugin.yaml"] = &fstest.MapFile{Data: []byte("name: " + name + "\nversion: v1\ndescription: for a test\nimages: [\"registry.example/check:v1\"]\n" + more)}
		dir[name+"/manifests/all.yaml"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(manifest, "NAME", name))}
		for _, f := range files {
			path, text, _ := strings.Cut(f, "=")
			dir[name+"/"+path] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	const play = "- hosts: all\n  tasks: [{name: do, command: \"true\"}]\n"
	add("base", "", "test.yaml="+jobs)
	add("upper", "needs: [base]\n")
	add("top", "needs: [upper]\n")
	add("lonely", "")
	add("nodes", "parameters: {type: object, properties: {mode: {type: string, default: slow}}}\n"+
		"files: [{name: firmware, url: \"https://example.com/fw.bin\", sha256: "+strings.Repeat("a", 64)+"}]\n", "configure.yml="+play, "remove.yml="+play, "templates/x.j2=x")
	catalog, err := plugin.LoadAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{t: t, catalog: catalog, now: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC),
		cluster: &fakeCluster{has: map[string]int{}, fails: map[string]error{}, tests: map[string]contract.PluginTest{}}}
	w.in = Input{
		Run: "edge-1-plugins-1", ScratchDir: t.TempDir(), PlaybooksDir: t.TempDir(),
		Cluster: node.Cluster{PrivateKey: []byte("key"), HostsINI: []byte("[all]\n"), GroupVars: []byte("{}"),
			Request: contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site", KubernetesVersion: "1.35.4", DepotURL: "http://depot.local"}},
			Nodes: []contract.Node{
				{Name: "master-1", Host: "host-1", HostUID: "uid-1", Address: "10.0.0.1", Roles: []string{contract.RoleControlPlane}},
				{Name: "worker-1", Host: "host-2", HostUID: "uid-2", Address: "10.0.0.2", Roles: []string{contract.RoleWorker}},
				{Name: "worker-2", Host: "host-3", HostUID: "uid-3", Address: "10.0.0.3", Roles: []string{contract.RoleWorker}},
			}},
	}
	w.play = func(_ context.Context, stdout io.Writer) int {
		fmt.Fprintln(stdout, `{"_event":"v2_playbook_on_stats","stats":{"worker-1":{"ok":1,"changed":0,"failures":0,"unreachable":0,"skipped":0,"rescued":0,"ignored":0}}}`)
		return 0
	}
	return w
}

// wants sets the plugins of the request.
func (w *fixture) wants(names ...string) *fixture {
	w.in.Request.Plugins = nil
	for _, name := range names {
		p := w.catalog[name]
		complete, problems := p.Complete(nil)
		if len(problems) > 0 {
			w.t.Fatal(problems)
		}
		w.in.Request.Plugins = append(w.in.Request.Plugins, contract.Plugin{Name: name, Version: "v1", Parameters: complete, Digest: p.Digest(), Intent: "i-" + name})
	}
	return w
}

func (w *fixture) run(ctx context.Context) (Output, error) {
	w.now = w.now.Add(time.Minute)
	w.cluster.done = nil
	return Run(ctx, w.in, Ports{
		Enter: func(context.Context, Input, io.Writer) (Cluster, func(), error) {
			return w.cluster, func() { w.left++ }, nil
		},
		Depot: func(context.Context) (*client.Depot, error) {
			if w.depot == nil {
				return nil, errors.New("connection refused")
			}
			return w.depot, nil
		}, Catalog: w.catalog,
		Playbook: func(ctx context.Context, c process.Command, stdout, _ io.Writer) (int, error) {
			w.plays = append(w.plays, c)
			text, err := os.ReadFile(strings.TrimPrefix(c.Args[slices.Index(c.Args, "-e")+1], "@"))
			if err != nil {
				return 0, err
			}
			w.extra = append(w.extra, string(text))
			return w.play(ctx, stdout), nil
		},
		KnownHosts: &w.known, Progress: &w.other, Record: &w.record, Log: &w.log, Now: func() time.Time { return w.now },
	})
}

// states returns the record as "name State: message".
func (w *fixture) states() (all []string) {
	w.t.Helper()
	for _, row := range w.rows() {
		text := fmt.Sprintf("%s %s", row.Name, row.State)
		if row.Message != "" {
			text += ": " + row.Message
		}
		all = append(all, text)
	}
	return all
}

func (w *fixture) rows() (rows []contract.PluginStatus) {
	w.t.Helper()
	if text := w.record.data[contract.KeyPlugins]; text != "" {
		if err := json.Unmarshal([]byte(text), &rows); err != nil {
			w.t.Fatal(err)
		}
	}
	return rows
}

func reasonOf(err error) contract.Reason { return task.FailureOf(err).Reason }
