package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// asDepot is the environment variable that makes this test binary behave as the depot command.
const asDepot = "DEPOT_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asDepot) != "" {
		main()
		return
	}
	http.DefaultTransport, remote.DefaultTransport = asMachine{http.DefaultTransport}, asMachine{remote.DefaultTransport}
	os.Exit(m.Run())
}

// secrets maps the address of a local listener to its token.
var secrets sync.Map

// asMachine adds the token to requests to a local listener. TestMain makes it the default
// transport, so the requests of all tests have the token.
type asMachine struct{ http.RoundTripper }

func (a asMachine) RoundTrip(r *http.Request) (*http.Response, error) {
	if secret, known := secrets.Load(r.URL.Host); known {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+secret.(string))
	}
	return a.RoundTripper.RoundTrip(r)
}

func (a asMachine) CloseIdleConnections() { a.RoundTripper.(*http.Transport).CloseIdleConnections() }

// process is a running depot, on loopback ports that the system chose.
type process struct {
	*exec.Cmd
	address   string            // of the local listener
	listeners map[string]string // listener name to address
}

// start runs a depot with a local listener.
func start(t *testing.T, root string, env ...string) *process {
	t.Helper()
	p := startWith(t, env, "--root="+root, "--local-listen=127.0.0.1:0")
	p.useToken(t, root)
	return p
}

// useToken sends the token in root with all requests to the local listener, from these tests and
// from the programs that they start.
func (p *process) useToken(t *testing.T, root string) {
	t.Helper()
	secret, err := localToken(root)
	if err != nil {
		t.Fatal(err)
	}
	secrets.Store(p.address, string(secret))
	t.Setenv("DEPOT_TOKEN", string(secret))
}

func startWith(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asDepot+"=1"), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	endpoints := openedListeners(t, stderr, strings.Count(strings.Join(args, " "), "listen="))
	return &process{cmd, endpoints["local"], endpoints}
}

// openedListeners reads the log until it has the addresses of count listeners.
func openedListeners(t *testing.T, log io.Reader, count int) map[string]string {
	t.Helper()
	endpoints := map[string]string{}
	lines := bufio.NewScanner(log)
	for len(endpoints) < count {
		if !lines.Scan() {
			t.Fatal("the depot ended before it served")
		}
		var entry struct{ Msg, Listener, Address string }
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatalf("log line %q is not JSON: %v", lines.Text(), err)
		}
		if entry.Msg == "serving" {
			endpoints[entry.Listener] = entry.Address
		}
	}
	go io.Copy(io.Discard, log) //nolint:errcheck // only so that the pipe never fills
	return endpoints
}

func TestAcknowledgedImageSurvivesKill(t *testing.T) {
	root := t.TempDir()
	img, err := random.Image(4<<20, 2)
	if err != nil {
		t.Fatal(err)
	}
	first := start(t, root)
	if err := remote.Write(tag(t, first), img); err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()

	pulled, err := remote.Image(tag(t, start(t, root)))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(pulled); err != nil {
		t.Error(err)
	}
}

func tag(t *testing.T, p *process) name.Tag {
	t.Helper()
	ref, err := name.NewTag(p.address + "/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestReadyIsAnnouncedAndTermEndsWell(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	depot := start(t, t.TempDir(), "NOTIFY_SOCKET="+socket)
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	n, err := conn.Read(buf)
	if err != nil || string(buf[:n]) != "READY=1" {
		t.Fatalf("notified %q, %v; want READY=1", buf[:n], err)
	}
	if err := depot.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := depot.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want exit status 0", err)
	}
}

func TestBadFlagsAreExplained(t *testing.T) {
	taken := startWith(t, nil, "--root="+t.TempDir(), "--local-listen=unix:"+filepath.Join(t.TempDir(), "socket"))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--root="}, "--root is empty"},
		{nil, "no listener is configured"},
		{[]string{"--listen=nowhere:99999"}, "listen on nowhere:99999"},
		{[]string{"--tls-listen=nowhere:99999"}, "listen on nowhere:99999"},
		{[]string{"--local-listen=0.0.0.0:0"}, "must be on a loopback address"},
		{[]string{"--local-listen=:0"}, "must be on a loopback address"},
		{[]string{"--local-listen=unix:" + file}, "is not a socket"},
		{[]string{"--local-listen=unix:" + taken.address}, "another program listens"},
		{[]string{"--listen=127.0.0.1:0", "--anonymous-read=false"}, "anonymous reads only"},
		{[]string{"--tls-listen=127.0.0.1:0", "--kubeconfig=/absent"}, "kubeconfig /absent"},
		{[]string{"--tls-listen=127.0.0.1:0", "--max-connections=0"}, "allows no connection"},
		{[]string{"--tls-listen=127.0.0.1:0", "--max-connections=5", "--max-connections-per-address=6"}, "up to --max-connections (5)"},
		{[]string{"--tls-listen=127.0.0.1:0", "--min-rate=0"}, "at least 1"},
		{[]string{"--probe-listen=127.0.0.1:0"}, "no listener is configured"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"--root=" + t.TempDir()}, tt.flags...)...)
		cmd.Env = append(os.Environ(), asDepot+"=1")
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("depot %s: %v, %s; want an error with %q", tt.flags, err, out, tt.want)
		}
	}
}
