package targettest

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Nobody returns an address at which nothing listens.
func Nobody(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// StartDepot starts a depot, for a test of a package in bootstrap/internal. It returns its folder and the address of its
// local listener. DEPOT names a binary that is already built.
func StartDepot(t *testing.T) (root, address string) {
	t.Helper()
	root, address = t.TempDir(), Nobody(t)
	Start(t, address, nil, Build(t, "DEPOT", "../../..", "./cmd/depot"), "--root", root, "--local-listen", address)
	return root, address
}

// Build builds a program of another module, unless a variable of the environment names a binary.
func Build(t *testing.T, variable, module, program string) string {
	t.Helper()
	if binary := os.Getenv(variable); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "server")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, program)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
	return binary
}

// Start starts a server, and waits until its address accepts connections.
func Start(t *testing.T, address string, env []string, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("the server said:\n%s", out.String())
		}
	})
	tick, limit := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the server has ended: %v", err)
		case <-limit:
			t.Fatalf("nobody listens at %s", address)
		case <-tick.C:
		}
	}
}
