//go:build integration

package clients

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/test/clients/listeners"
)

// containerdClient is a containerd that is told of the door as a node is (certs.d), with its own ctr to speak to it. Each call has a daemon of its
// own that holds nothing yet: what it has, it got.
type containerdClient struct {
	daemon, ctr string
	at          at
}

func (c *containerdClient) push(t *testing.T, layout, ref string) (string, error) {
	archive := filepath.Join(t.TempDir(), "image.tar")
	listeners.Run(t, nil, "tar", "-C", layout, "-cf", archive, ".")
	d := c.start(t)
	if out, err := d.run(t, "import", "--local", "--all-platforms", "--no-unpack", "--base-name", "source", archive); err != nil {
		return out, err
	}
	if out, err := d.run(t, "tag", "--local", "source:v1", ref); err != nil {
		return out, err
	}
	return d.run(t, append([]string{"push", "--local"}, d.toward(t, ref)...)...)
}

// pull unpacks the image, as a node does, before it is exported.
func (c *containerdClient) pull(t *testing.T, ref, layout string) (string, error) {
	archive := filepath.Join(t.TempDir(), "image.tar")
	d := c.start(t)
	if out, err := d.run(t, append([]string{"pull", "--local", "--all-platforms", "--snapshotter=native"}, d.toward(t, ref)...)...); err != nil {
		return out, err
	}
	if err := os.Mkdir(layout, 0o755); err != nil {
		return "", err
	}
	if out, err := d.run(t, "export", "--local", "--all-platforms", "--skip-manifest-json", archive, ref); err != nil {
		return out, err
	}
	return listeners.Try(t, nil, "tar", "-C", layout, "-xf", archive)
}

// running is a containerd that ends with the test.
type running struct {
	*containerdClient
	socket string
}

func (c *containerdClient) start(t *testing.T) running {
	t.Helper()
	// A socket's path must be short, shorter than a test's folder.
	dir, err := os.MkdirTemp("", "containerd-")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "sock")
	config := writeFile(t, "config.toml", fmt.Sprintf(`version = 3
root = %q
state = %q
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = %q
[ttrpc]
  address = %q
`, filepath.Join(dir, "root"), filepath.Join(dir, "state"), socket, socket+".ttrpc"))
	cmd := exec.Command(c.daemon, "--config", filepath.Join(config, "config.toml"), "--log-level=error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), errors.Join(cmd.Wait(), os.RemoveAll(dir)) })
	d := running{c, socket}
	d.await(t)
	return d
}

// await asks until it answers: a program of others tells nobody that it listens.
func (d running) await(t *testing.T) {
	t.Helper()
	late, tick := time.After(30*time.Second), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		out, err := d.run(t, "list")
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("containerd does not answer: %v\n%s", err, out)
		}
	}
}

func (d running) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return listeners.Try(t, nil, d.ctr, append([]string{"--address", d.socket, "images"}, args...)...)
}

// toward says how to reach a reference's door, by a hosts.toml as nodes have it.
func (d running) toward(t *testing.T, ref string) []string {
	t.Helper()
	server := "https://" + host(t, ref)
	if d.at.ca == "" {
		server = "http://" + host(t, ref)
	}
	hosts := fmt.Sprintf("server = %q\n[host.%q]\n  capabilities = [\"pull\", \"resolve\", \"push\"]\n", server, server)
	if d.at.ca != "" {
		hosts += fmt.Sprintf("  ca = %q\n", d.at.ca)
	}
	flags := []string{"--hosts-dir", writeFile(t, filepath.Join(host(t, ref), "hosts.toml"), hosts)}
	if d.at.token != "" {
		flags = append(flags, "--user", "any:"+d.at.token)
	}
	return append(flags, ref)
}
