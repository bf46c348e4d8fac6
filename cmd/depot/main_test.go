package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// asDepot makes this test binary behave as the command itself.
const asDepot = "DEPOT_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asDepot) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a depot of its own, on a loopback port that the system chose.
type process struct {
	*exec.Cmd
	address string
}

func start(t *testing.T, root string, env ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], "--listen=127.0.0.1:0", "--root="+root)
	cmd.Env = append(append(os.Environ(), asDepot+"=1"), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return &process{cmd, servingAddress(t, stderr)}
}

// servingAddress reads the log up to the line that says where we serve.
func servingAddress(t *testing.T, log io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var entry struct{ Msg, Address string }
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatalf("log line %q is no JSON: %v", lines.Text(), err)
		}
		if entry.Msg == "serving" {
			go io.Copy(io.Discard, log) //nolint:errcheck // only so that the pipe never fills
			return entry.Address
		}
	}
	t.Fatal("the depot ended before it served")
	return ""
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
	for _, tt := range []struct{ name, want string }{
		{"--root=", "--root is empty"},
		{"--listen=nowhere:99999", "listen on nowhere:99999"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "--root="+t.TempDir(), tt.name)
		cmd.Env = append(os.Environ(), asDepot+"=1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("depot %s: %v, %s; want an error with %q", tt.name, err, out, tt.want)
		}
	}
}
