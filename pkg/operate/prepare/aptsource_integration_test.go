//go:build integration

package prepare

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// TestSourceScriptWithRealApt runs the script with the apt of this machine, in a mount namespace in which /etc
// and the state of apt are those of the test, and then apt as a playbook does. With another server between the
// node and the depot, the script changes nothing.
func TestSourceScriptWithRealApt(t *testing.T) {
	depot, other := depottest.Start(t), depottest.Start(t)
	for _, d := range []*depottest.Depot{depot, other} {
		d.Put(t, "apt/debian-12/app.deb", apttest.Package(t, "app", "1", "amd64", ""))
	}
	other.Put(t, "apt/debian-12/evil.deb", apttest.Package(t, "app", "99", "amd64", ""))
	n := realNode{t, t.TempDir()}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", "/etc", n.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(n.dir, "etc/apt")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "lib/apt/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hook := filepath.Join(n.dir, "hook")
	n.write("etc/apt/apt.conf.d/10site", "APT::Update::Post-Invoke {\"touch "+hook+"\";};\nAPT::Update::Pre-Invoke {\"touch "+hook+"\";};\n")
	n.write("etc/apt/sources.list", "deb http://127.0.0.1:1/ bookworm main\n") // never reached

	if said, err := n.configure(request(other.URL), keyOf(t, depot.URL)); err == nil || !strings.Contains(said, "NO_PUBKEY") || err.Error() != "exit status 67" {
		t.Errorf("another server: %v, want apt's refusal:\n%s", err, said)
	}
	if said, err := n.configure(request(depot.URL), nil); err == nil || !strings.Contains(said, "no key for their index") {
		t.Errorf("a depot without a key: %v:\n%s", err, said)
	}
	for _, path := range []string{"etc/apt/sources.list.d/bpa-depot.sources", "etc/apt/apt.conf.d/90bpa-depot", "etc/bpa/depot-apt-key.asc", "hook"} {
		if _, err := os.Stat(filepath.Join(n.dir, path)); !os.IsNotExist(err) {
			t.Errorf("%s was written although apt refuses the index (%v)", path, err)
		}
	}
	for range 2 {
		if said, err := n.configure(request(depot.URL), keyOf(t, depot.URL)); err != nil || strings.TrimSpace(said) != "held" {
			t.Fatalf("%v:\n%s", err, said)
		}
	}
	if _, err := os.Stat(hook); !os.IsNotExist(err) {
		t.Error("the script ran a hook of the node")
	}
	if said, err := n.run("apt-get -q update -o APT::Update::Error-Mode=any && apt-get -q -y install --download-only app && ls /var/cache/apt/archives"); err != nil ||
		!strings.Contains(said, "app_1_amd64.deb") || strings.Contains(said, "W:") {
		t.Errorf("apt of the node: %v:\n%s", err, said)
	}

	// A new key: until the next run the node keeps its lists, and refuses new ones.
	renewed := depottest.Start(t)
	renewed.Put(t, "apt/debian-12/app.deb", apttest.Package(t, "app", "1", "amd64", ""))
	now := depot.URL
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, err := http.Get(now + r.URL.Path) //nolint:noctx // of a test
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(proxy.Close)
	if said, err := n.configure(request(proxy.URL), keyOf(t, proxy.URL)); err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	now = renewed.URL
	if said, err := n.run("apt-get -q update -o APT::Update::Error-Mode=any"); err == nil || !strings.Contains(said, "NO_PUBKEY") {
		t.Errorf("with the old key: %v, want a refusal:\n%s", err, said)
	}
	if said, err := n.configure(request(proxy.URL), keyOf(t, proxy.URL)); err != nil {
		t.Errorf("the next run: %v:\n%s", err, said)
	}
	if said, err := n.run("apt-get -q update -o APT::Update::Error-Mode=any"); err != nil {
		t.Errorf("with the new key: %v:\n%s", err, said)
	}
}

func request(url string) contract.Request {
	return contract.Request{Spec: contract.Spec{DepotURL: url}}
}

func keyOf(t *testing.T, url string) []byte {
	t.Helper()
	depot, err := client.Connect(t.Context(), url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer depot.Close()
	key, err := depot.PackageKey(t.Context())
	if err != nil || key == nil {
		t.Fatalf("%q, %v", key, err)
	}
	return key
}

// realNode is a folder with the files of a node that apt reads and writes.
type realNode struct {
	t   *testing.T
	dir string
}

func (n realNode) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func (n realNode) configure(r contract.Request, key []byte) (string, error) {
	n.t.Helper()
	script, err := sourceFor(r, key, "debian-12")
	if err != nil {
		n.t.Fatal(err)
	}
	return n.run(script)
}

// run runs a script with the node's files in their places. It returns both outputs.
func (n realNode) run(script string) (string, error) {
	const mounts = `set -eu; n=$1
mount --bind $n/etc /etc; mount --bind $n/lib/apt /var/lib/apt; mount --bind $n/cache /var/cache/apt
exec sh -c "$2"`
	command := exec.CommandContext(context.WithoutCancel(n.t.Context()), "unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, "mounts", n.dir, script)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}
