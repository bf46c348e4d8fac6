package supervisor

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// web returns a component that serves its health URL.
func (f *fixture) web(name string) Component {
	f.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	c := f.fake(name, "web")
	c.Env = append(c.Env, "FAKE_ADDR="+address)
	c.Health, c.Grace = "http://"+address, 200*time.Millisecond
	return c
}

// A stopped process still has its sockets, as one that hangs on a bad disk: connections succeed, and nothing answers.
func TestAComponentThatHangsIsRestarted(t *testing.T) {
	f := newFixture(t)
	f.liveness = liveness{every: 20 * time.Millisecond, limit: 500 * time.Millisecond, unhealthy: 2, hung: 4}
	f.apply(f.web("etcd"))
	f.ready()
	before, _ := f.board.snapshot()
	if err := syscall.Kill(before["etcd"].PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	f.await("unhealthy", func(all map[string]Status) bool { return all["etcd"].Phase == Unhealthy })
	now := f.await("a restart", func(all map[string]Status) bool {
		return all["etcd"].Phase == Ready && all["etcd"].PID != before["etcd"].PID
	})
	if now["etcd"].Restarts != 1 || !strings.HasPrefix(now["etcd"].Exit, "no answer from http://127.0.0.1:") {
		t.Errorf("status after a hang: %+v, want 1 restart because of no answer", now["etcd"])
	}
}

func TestASlowComponentIsNotRestarted(t *testing.T) {
	f := newFixture(t)
	f.liveness = liveness{every: 20 * time.Millisecond, limit: 100 * time.Millisecond, unhealthy: 2, hung: 1 << 30}
	f.apply(f.web("etcd"))
	f.ready()
	before, _ := f.board.snapshot()
	if err := syscall.Kill(before["etcd"].PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	f.await("unhealthy", func(all map[string]Status) bool { return all["etcd"].Phase == Unhealthy })
	if err := syscall.Kill(before["etcd"].PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	now := f.await("ready again", func(all map[string]Status) bool { return all["etcd"].Phase == Ready })
	if now["etcd"].PID != before["etcd"].PID {
		t.Error("restarted a component that answers again")
	}
}

// The supervisor asks for less than readiness after the start, if the component says so.
func TestLiveAsksAfterHealth(t *testing.T) {
	f := newFixture(t)
	f.liveness = liveness{every: 20 * time.Millisecond, limit: time.Second, unhealthy: 1, hung: 1 << 30}
	c := f.web("api")
	c.Live = "http://127.0.0.1:1/livez" // nobody listens there
	f.apply(c)
	f.await("unhealthy by Live", func(all map[string]Status) bool { return all["api"].Phase == Unhealthy })
}

func TestProbeGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		body, status string
		want         bool
	}{
		"serving":     {"\x00\x00\x00\x00\x02\x08\x01", "0", true},
		"not serving": {"\x00\x00\x00\x00\x02\x08\x02", "0", false},
		"no service":  {"", "12", false},
	} {
		socket := filepath.Join(t.TempDir(), "s")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		server := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/grpc.health.v1.Health/Check" || r.Header.Get("Content-Type") != "application/grpc" {
				t.Errorf("request %s %s", r.URL, r.Header)
			}
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write([]byte(c.body))
			w.Header().Set("Grpc-Status", c.status)
		})}
		go func() { _ = server.Serve(listener) }()
		if got := probe(t.Context(), "grpc+unix://"+socket); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
		server.Close()
		if probe(t.Context(), "grpc+unix://"+socket) {
			t.Error("healthy without a server")
		}
	}
}
