package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fixture is a supervisor whose fake programs append to one journal file.
type fixture struct {
	*Supervisor
	t       *testing.T
	journal string
}

func newFixture(t *testing.T) *fixture {
	dir := t.TempDir()
	f := &fixture{Supervisor: New(filepath.Join(dir, "log")), t: t, journal: filepath.Join(dir, "journal")}
	t.Cleanup(f.Stop)
	return f
}

func (f *fixture) fake(name, part string, needs ...string) Component {
	return Component{
		Name: name, Args: []string{os.Args[0]}, Needs: needs, Notify: true, Grace: 5 * time.Second,
		Env: []string{"FAKE=" + part, "FAKE_NAME=" + name, "FAKE_JOURNAL=" + f.journal},
	}
}

func (f *fixture) apply(components ...Component) {
	f.t.Helper()
	if err := f.Apply(Plan{Components: components}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) await(what string, cond func(map[string]Status) bool) map[string]Status {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	if err := f.board.await(ctx, cond); err != nil {
		f.t.Fatalf("waiting for %s: %v; have %+v", what, err, f.Supervisor.Status())
	}
	now, _ := f.board.snapshot()
	return now
}

func (f *fixture) ready(names ...string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second)
	defer cancel()
	if err := f.AwaitReady(ctx, names...); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) events() []string {
	raw, err := os.ReadFile(f.journal)
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

func TestStartsAndStopsInTheOrderOfNeeds(t *testing.T) {
	f := newFixture(t)
	f.apply(f.fake("node", "server", "api"), f.fake("api", "server", "store"), f.fake("store", "server"))
	f.ready()
	f.Stop()
	want := []string{"start store", "start api", "start node", "stop node", "stop api", "stop store"}
	if diff := cmp.Diff(want, f.events()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestComponentWaitsForThoseThatItNeeds(t *testing.T) {
	f := newFixture(t)
	f.apply(f.fake("api", "server", "store"), f.fake("store", "mute"))
	now := f.await("store to start", func(all map[string]Status) bool { return all["store"].Phase == Starting })
	if got := now["api"].Phase; got != Waiting {
		t.Errorf("api is %s while store is not ready, want %s", got, Waiting)
	}
}

func TestRestartsAKilledComponent(t *testing.T) {
	f := newFixture(t)
	f.apply(f.fake("store", "server"), f.fake("api", "server", "store"))
	f.ready()
	before, _ := f.board.snapshot()
	if err := syscall.Kill(before["store"].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	now := f.await("a restart", func(all map[string]Status) bool {
		return all["store"].Phase == Ready && all["store"].PID != before["store"].PID
	})
	if now["store"].Restarts != 1 || now["store"].Exit != "signal: killed" {
		t.Errorf("status after a kill: %+v, want 1 restart after \"signal: killed\"", now["store"])
	}
	if now["api"].PID != before["api"].PID {
		t.Error("a component that needs the killed one was restarted; it should reconnect by itself")
	}
}

func TestACrashingProgramIsTriedAgainAndItsExitIsKept(t *testing.T) {
	f := newFixture(t)
	f.apply(f.fake("api", "crash"))
	now := f.await("two restarts", func(all map[string]Status) bool { return all["api"].Restarts >= 2 })
	if now["api"].Exit != "exit status 3" {
		t.Errorf("exit is %q, want the program's status", now["api"].Exit)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := f.AwaitReady(ctx, "api"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "api.log") {
		t.Errorf("AwaitReady returned %v; want a timeout that names the log", err)
	}
}

func TestStopKillsAProgramThatIgnoresSIGTERM(t *testing.T) {
	f := newFixture(t)
	stubborn := f.fake("api", "stubborn")
	stubborn.Grace = 100 * time.Millisecond
	f.apply(stubborn)
	f.ready()
	now, _ := f.board.snapshot()
	f.Stop()
	if err := syscall.Kill(now["api"].PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d after Stop: %v, want no such process", now["api"].PID, err)
	}
}

func TestReadyRequiresAHealthyAnswer(t *testing.T) {
	f := newFixture(t)
	sick := f.fake("api", "server")
	sick.Health = "http://127.0.0.1:1/healthz" // nobody listens there
	f.apply(sick, f.fake("witness", "server"))
	f.ready("witness")
	now, _ := f.board.snapshot()
	if now["api"].Phase == Ready {
		t.Error("ready without a healthy answer")
	}
}

func TestReadinessOfAnotherProcessDoesNotCount(t *testing.T) {
	for _, c := range []struct {
		pid  int
		want bool
	}{{os.Getpid(), true}, {1, false}} {
		socket, err := listenNotify("test")
		if err != nil {
			t.Fatal(err)
		}
		defer socket.close()
		t.Setenv("NOTIFY_SOCKET", socket.addr)
		sendReady() // the message stays in the socket's queue until socket.wait reads it
		if err := socket.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if got := socket.wait(c.pid); got != c.want {
			t.Errorf("this test sent READY; accepted for process %d: %t, want %t", c.pid, got, c.want)
		}
	}
}

func TestApplyRestartsOnlyChangedComponents(t *testing.T) {
	f := newFixture(t)
	conf := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(conf, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	configured := f.fake("configured", "server")
	configured.Inputs = []string{conf}
	f.apply(configured, f.fake("same", "server"), f.fake("gone", "server"))
	f.ready()
	before, _ := f.board.snapshot()

	if err := os.WriteFile(conf, []byte("22"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.apply(configured, f.fake("same", "server"), f.fake("new", "server"))
	f.ready()
	after, _ := f.board.snapshot()
	if after["same"].PID != before["same"].PID {
		t.Error("restarted a component that did not change")
	}
	if after["configured"].PID == before["configured"].PID {
		t.Error("did not restart a component whose input changed")
	}
	if _, there := after["gone"]; there {
		t.Error("kept a component that left the plan")
	}
	if after["new"].Phase != Ready {
		t.Errorf("new component is %s", after["new"].Phase)
	}
}
