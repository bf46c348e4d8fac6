package listeners

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Depot is a running depot. Addresses are host:port.
type Depot struct {
	Local string // local listener: HTTP; reads are anonymous, writes need LocalToken
	Plain string // plain listener: HTTP; anonymous reads only
	TLS   string // TLS listener: reads are anonymous, writes need Token
	CA    string // file with the CA certificate of the TLS listener
	Token string // token of an account that may write, valid during the test
	// LocalToken is the token for writes at the local listener.
	LocalToken string
}

// Open starts an API server and a depot. Both are stopped when the test ends.
func Open(t *testing.T) *Depot {
	t.Helper()
	dir := t.TempDir()
	api := startAPIServer(t, filepath.Join(dir, "apiserver"))
	api.kubectl(t, "create", "namespace", "bpa-system")
	api.kubectl(t, "apply", "-f", filepath.Join(root(t), "config", "200-depot.yaml"))
	api.kubectl(t, "create", "serviceaccount", "-n", "bpa-system", "writer")
	api.kubectl(t, "create", "clusterrolebinding", "writer", "--clusterrole=bpa-depot-writer", "--serviceaccount=bpa-system:writer")

	d := &Depot{CA: filepath.Join(dir, "depot", "tls", "ca.crt"), Token: api.token(t, "writer", "--audience=depot.bpa.akraino.org")}
	d.start(t, Build(t, root(t), "./cmd/depot"), "--root="+filepath.Join(dir, "depot"), "--kubeconfig="+api.kubeconfigOf(t, "bpa-depot"),
		"--local-listen=127.0.0.1:0", "--listen=127.0.0.1:0", "--tls-listen=127.0.0.1:0")
	secret, err := os.ReadFile(filepath.Join(dir, "depot", "local-token"))
	if err != nil {
		t.Fatal(err)
	}
	d.LocalToken = strings.TrimSpace(string(secret))
	return d
}

func (d *Depot) start(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	lines := bufio.NewScanner(log)
	for d.Local == "" || d.Plain == "" || d.TLS == "" {
		if !lines.Scan() {
			t.Fatal("the depot exited before all listeners were ready")
		}
		var entry struct{ Msg, Listener, Address, Error string }
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if entry.Error != "" {
			t.Errorf("depot: %s", lines.Text())
		}
		switch entry.Listener {
		case "local":
			d.Local = entry.Address
		case "plain":
			d.Plain = entry.Address
		case "tls":
			d.TLS = entry.Address
		}
	}
	go io.Copy(io.Discard, log) //nolint:errcheck // drains the pipe, so that the depot never blocks
}
