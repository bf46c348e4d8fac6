//go:build bench

package depot

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is a server that the benchmark measures.
type process struct {
	cmd *exec.Cmd
	url string
}

// build compiles a command of this module into a folder of the test.
func build(t *testing.T, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	run(t, "go", "build", "-C", "../../..", "-o", out, pkg)
	return out
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// start runs a server until the test ends, and waits until it answers at path.
func start(t *testing.T, address, path, name string, args ...string) process {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := process{cmd, "http://" + address}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond) // the peers do not report that they listen
	defer tick.Stop()
	for {
		if resp, err := http.Get(p.url + path); err == nil {
			resp.Body.Close()
			return p
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not answer at %s", name, p.url+path)
		case <-tick.C:
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startDepot starts a depot with the given root directory. The URL is that of the local listener,
// with the token for writes.
func startDepot(t *testing.T, root string) process {
	t.Helper()
	address := freeAddress(t)
	p := start(t, address, "/readyz", build(t, "./cmd/depot"), "--local-listen="+address, "--root="+root)
	token, err := os.ReadFile(filepath.Join(root, "local-token"))
	if err != nil {
		t.Fatal(err)
	}
	p.url = "http://any:" + strings.TrimSpace(string(token)) + "@" + address
	return p
}

func startPlainRegistry(t *testing.T, root string) process {
	t.Helper()
	address := freeAddress(t)
	return start(t, address, "/v2/", build(t, "./test/bench/plainregistry"), "--listen="+address, "--root="+root)
}

// startNginx serves a folder with nginx's fastest settings: sendfile, and one worker per core.
func startNginx(t *testing.T, folder string) process {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`daemon off; user root; worker_processes auto; pid %[1]s/pid; error_log %[1]s/error.log;
events {}
http { access_log off; sendfile on; tcp_nopush on; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
server { listen %[2]s; root %[3]s; } }`, dir, address, folder)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return start(t, address, "/", "nginx", "-e", dir+"/error.log", "-c", file)
}

// peak returns the peak resident memory of the process, in MiB.
func (p process) peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return n >> 10
		}
	}
	t.Fatalf("/proc/%d/status has no VmHWM", p.cmd.Process.Pid)
	return 0
}
