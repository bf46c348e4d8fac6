package supervisor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStoppedComponentsStayStopped(t *testing.T) {
	f := newFixture(t)
	components := []Component{f.fake("store", "server"), f.fake("api", "server", "store"), f.fake("node", "server", "api"), f.fake("depot", "server")}
	f.apply(components...)
	f.ready()
	before, _ := f.board.snapshot()
	if err := f.StopComponent("api"); err != nil {
		t.Fatal(err)
	}
	f.apply(components...) // as a reload does
	phases := func() map[string]Phase {
		all, _ := f.board.snapshot()
		got := map[string]Phase{}
		for name, s := range all {
			got[name] = s.Phase
		}
		return got
	}
	if diff := cmp.Diff(map[string]Phase{"store": Ready, "api": Stopped, "node": Stopped, "depot": Ready}, phases()); diff != "" {
		t.Errorf("after stop api (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"stop node", "stop api"}, f.events()[4:]); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if err := f.StartComponent("api"); err != nil {
		t.Fatal(err)
	}
	f.ready("api")
	if got := phases()["node"]; got != Stopped {
		t.Errorf("node is %s after start api, want it still stopped", got)
	}
	if err := f.StopComponent("store"); err != nil {
		t.Fatal(err)
	}
	if err := f.StartComponent("node"); err != nil {
		t.Fatal(err)
	}
	f.ready()
	if err := f.RestartComponent("store"); err != nil {
		t.Fatal(err)
	}
	f.ready()
	after, _ := f.board.snapshot()
	if after["depot"].PID != before["depot"].PID {
		t.Error("depot was restarted")
	}
	if err := f.StopComponent("stroe"); err == nil || !strings.Contains(err.Error(), `no component "stroe"; the components are store, api, node, depot`) {
		t.Errorf("a wrong name: %v", err)
	}
}

func TestAClientControlsComponents(t *testing.T) {
	f, p := newFixture(t), testPaths(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := (Plan{Components: []Component{f.fake("api", "server"), f.fake("node", "server", "api")}}).Write(p.Plan); err != nil {
		t.Fatal(err)
	}
	client, ended := NewClient(p), make(chan error, 1)
	go func() { ended <- Serve(ctx, p, Hooks{}) }()
	if err := client.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := client.StopComponent(ctx, "node"); err != nil {
		t.Fatal(err)
	}
	if _, list, err := client.Status(ctx); err != nil || list[0].Phase != Ready || list[1].Phase != Stopped {
		t.Errorf("%+v, %v", list, err)
	}
	if err := client.StartComponent(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if err := client.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := client.RestartComponent(ctx, "none"); err == nil || !strings.Contains(err.Error(), `no component "none"`) {
		t.Errorf("a wrong name: %v", err)
	}
	if err := client.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := client.StopComponent(ctx, "node"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a daemon: %v", err)
	}
}

func testPaths(t *testing.T) Paths {
	dir := t.TempDir()
	return Paths{Plan: filepath.Join(dir, "plan.json"), Socket: filepath.Join(dir, "s"), Lock: filepath.Join(dir, "lock"), Logs: filepath.Join(dir, "log")}
}

// The daemon prepares before it starts anything, reloads what the maintenance has changed, and tells systemd that it
// is ready and works.
func TestDaemonPreparesMaintainsAndNotifies(t *testing.T) {
	f, p := newFixture(t), testPaths(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", systemd.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "40000")
	write := func(names ...string) error {
		var plan Plan
		for _, name := range names {
			plan.Components = append(plan.Components, f.fake(name, "server"))
		}
		return plan.Write(p.Plan)
	}
	calls := 0
	hooks := Hooks{
		Prepare:       func(context.Context) error { return write("api") },
		MaintainEvery: 10 * time.Millisecond,
		Maintain: func(context.Context) (bool, error) {
			if calls++; calls == 1 {
				return false, errors.New("an error ends nothing")
			}
			return calls == 2, write("api", "renewed")
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, p, hooks) }()
	client := NewClient(p)
	for {
		_, list, err := client.Status(ctx)
		if err == nil && len(list) == 2 && list[1].Phase == Ready {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the change was not applied: %+v, %v", list, err)
		}
	}
	want := map[string]bool{"READY=1": true, "WATCHDOG=1": true}
	for message := make([]byte, 100); len(want) > 0; {
		if err := systemd.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := systemd.Read(message)
		if err != nil {
			t.Fatalf("%v; systemd has not received %v", err, want)
		}
		delete(want, string(message[:n]))
	}
	if err := client.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	failing := Hooks{Prepare: func(context.Context) error { return errors.New("no bridge") }}
	if err := Serve(ctx, p, failing); err == nil || err.Error() != "no bridge" {
		t.Errorf("a daemon that cannot prepare: %v", err)
	}
}

// A plan has probes that the supervisor of an earlier version does not know, so an update has to replace it.
func TestClientRecognizesAnOutdatedDaemon(t *testing.T) {
	f, p := newFixture(t), testPaths(t)
	client := NewClient(p)
	if outdated, err := client.Outdated(t.Context()); outdated || !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a daemon: %t, %v", outdated, err)
	}
	listener, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	old := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"pid": 1, "components": []}`))
	})}
	go func() { _ = old.Serve(listener) }()
	if outdated, err := client.Outdated(t.Context()); !outdated || err != nil {
		t.Errorf("the first version: %t, %v", outdated, err)
	}
	old.Close()
	if err := (Plan{Components: []Component{f.fake("api", "server")}}).Write(p.Plan); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, p, Hooks{}) }()
	if err := client.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if outdated, err := client.Outdated(ctx); outdated || err != nil {
		t.Errorf("this version: %t, %v", outdated, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
