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

// world is a supervisor with fakes that write into one journal.
type world struct {
	*Supervisor
	t       *testing.T
	journal string
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	w := &world{Supervisor: New(filepath.Join(dir, "log")), t: t, journal: filepath.Join(dir, "journal")}
	t.Cleanup(w.Stop)
	return w
}

func (w *world) fake(name, part string, needs ...string) Component {
	return Component{
		Name: name, Args: []string{os.Args[0]}, Needs: needs, Notify: true, Grace: 5 * time.Second,
		Env: []string{"FAKE=" + part, "FAKE_NAME=" + name, "FAKE_JOURNAL=" + w.journal},
	}
}

func (w *world) apply(components ...Component) {
	w.t.Helper()
	if err := w.Apply(Plan{Components: components}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) await(what string, cond func(map[string]Status) bool) map[string]Status {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.board.await(ctx, cond); err != nil {
		w.t.Fatalf("waiting for %s: %v; have %+v", what, err, w.Supervisor.Status())
	}
	now, _ := w.board.snapshot()
	return now
}

func (w *world) ready(names ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.AwaitReady(ctx, names...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) events() []string {
	raw, err := os.ReadFile(w.journal)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

func TestStartsAndStopsInTheOrderOfNeeds(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fake("node", "server", "api"), w.fake("api", "server", "store"), w.fake("store", "server"))
	w.ready()
	w.Stop()
	want := []string{"start store", "start api", "start node", "stop node", "stop api", "stop store"}
	if diff := cmp.Diff(want, w.events()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestWhoNeedsSomethingUnreadyWaits(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fake("api", "server", "store"), w.fake("store", "mute"))
	now := w.await("store to start", func(all map[string]Status) bool { return all["store"].Phase == Starting })
	if got := now["api"].Phase; got != Waiting {
		t.Errorf("api is %s while store is not ready, want %s", got, Waiting)
	}
}

func TestRestartsWhatWasKilled(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fake("store", "server"), w.fake("api", "server", "store"))
	w.ready()
	before, _ := w.board.snapshot()
	if err := syscall.Kill(before["store"].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	now := w.await("a restart", func(all map[string]Status) bool {
		return all["store"].Phase == Ready && all["store"].PID != before["store"].PID
	})
	if now["store"].Restarts != 1 || now["store"].Exit != "signal: killed" {
		t.Errorf("status after a kill: %+v, want 1 restart after \"signal: killed\"", now["store"])
	}
	if now["api"].PID != before["api"].PID {
		t.Error("what needs the killed component was restarted, too; it should reconnect by itself")
	}
}

func TestACrashingProgramIsTriedAgainAndItsExitIsKept(t *testing.T) {
	w := newWorld(t)
	w.apply(w.fake("api", "crash"))
	now := w.await("two restarts", func(all map[string]Status) bool { return all["api"].Restarts >= 2 })
	if now["api"].Exit != "exit status 3" {
		t.Errorf("exit is %q, want the program's status", now["api"].Exit)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.AwaitReady(ctx, "api"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "api.log") {
		t.Errorf("AwaitReady says %v; want a time-out that names the log", err)
	}
}

func TestStopKillsWhoIgnoresIt(t *testing.T) {
	w := newWorld(t)
	stubborn := w.fake("api", "stubborn")
	stubborn.Grace = 100 * time.Millisecond
	w.apply(stubborn)
	w.ready()
	now, _ := w.board.snapshot()
	w.Stop()
	if err := syscall.Kill(now["api"].PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d after Stop: %v, want that there is none", now["api"].PID, err)
	}
}

func TestReadyNeedsHealthToo(t *testing.T) {
	w := newWorld(t)
	sick := w.fake("api", "server")
	sick.Health = "http://127.0.0.1:1/healthz" // nobody listens there
	w.apply(sick, w.fake("witness", "server"))
	w.ready("witness")
	now, _ := w.board.snapshot()
	if now["api"].Phase == Ready {
		t.Error("ready without a healthy answer")
	}
}

func TestReadinessOfSomeoneElseDoesNotCount(t *testing.T) {
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
		sayReady() // waits in the socket's queue
		if err := socket.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if got := socket.wait(c.pid); got != c.want {
			t.Errorf("this test said that it is ready; taken for process %d's word: %t, want %t", c.pid, got, c.want)
		}
	}
}

func TestApplyTouchesOnlyWhatChanged(t *testing.T) {
	w := newWorld(t)
	conf := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(conf, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	configured := w.fake("configured", "server")
	configured.Inputs = []string{conf}
	w.apply(configured, w.fake("same", "server"), w.fake("gone", "server"))
	w.ready()
	before, _ := w.board.snapshot()

	if err := os.WriteFile(conf, []byte("22"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.apply(configured, w.fake("same", "server"), w.fake("new", "server"))
	w.ready()
	after, _ := w.board.snapshot()
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
