//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
)

// imageDepot is a running cmd/depot. The test uploads images through its local listener.
type imageDepot struct {
	depot
	socket string // path of the socket of the local listener
}

func startImageDepot(t *testing.T, program string) *imageDepot {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	d := &imageDepot{depot: depot{ca: filepath.Join(root, "tls", "ca.crt")}, socket: filepath.Join(dir, "socket")}
	cmd := exec.Command(program, "--root="+root, "--local-listen=unix:"+d.socket, "--tls-listen="+rackAddress+":0", "--listen="+rackAddress+":0", "--host="+rackAddress)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	d.awaitListeners(t, log)
	return d
}

// put uploads content with its checksum, which the depot verifies.
func (d *imageDepot) put(t *testing.T, path string, content []byte) {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://depot"+path, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	request.Header.Set("X-Checksum-Sha256", hex.EncodeToString(sum[:]))
	response, err := (&http.Client{Transport: &http.Transport{DialContext: dial}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("PUT %s: %s", path, response.Status)
	}
}
