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

// containerdClient runs containerd with ctr. containerd finds the listener through certs.d, as on a
// node. Each call starts a new daemon with no content, so that all its images come from the depot.
type containerdClient struct {
	daemon, ctr string
	at          endpoint
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

// pull pulls and unpacks the image, as a node does, and then exports it.
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

// running is a containerd process. The test stops it at its end.
type running struct {
	*containerdClient
	socket string
}

func (c *containerdClient) start(t *testing.T) running {
	t.Helper()
	// The kernel limits the path of a socket to 107 bytes. A path in the temporary folder of the
	// test can be longer.
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

// await polls until containerd answers, because containerd does not report that it listens.
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

// toward returns the arguments of ctr to push or pull ref. One of them is a folder with a
// hosts.toml, as nodes have it.
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
