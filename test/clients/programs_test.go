//go:build integration

package clients

import (
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/tlscert"
	"github.com/akraino-icn/bpa/test/clients/listeners"
)

// programs returns a constructor for each client by name. A constructor logs in if the listener has
// a token.
func programs(t *testing.T) map[string]func(*testing.T, endpoint) client {
	crane := listeners.Build(t, ".", "github.com/google/go-containerregistry/cmd/crane")
	oras := listeners.Build(t, "modules/oras", "oras.land/oras/cmd/oras")
	skopeo := debian(t, "skopeo")
	containerd := listeners.Machines(t, "containerd", "ctr")
	return map[string]func(*testing.T, endpoint) client{
		"crane":      func(t *testing.T, at endpoint) client { return newCrane(t, crane, at) },
		"oras":       func(t *testing.T, at endpoint) client { return newORAS(t, oras, at) },
		"skopeo":     func(t *testing.T, at endpoint) client { return newSkopeo(t, skopeo, at) },
		"containerd": func(_ *testing.T, at endpoint) client { return &containerdClient{containerd[0], containerd[1], at} },
	}
}

// debian returns the path of a program. If it is missing, debian installs the package with the same
// name.
func debian(t *testing.T, name string) (program string) {
	t.Helper()
	if program, err := exec.LookPath(name); err == nil {
		return program
	}
	env := []string{"DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"}
	if out, err := listeners.Try(t, env, "apt-get", "install", "-qy", "--no-install-recommends", name); err != nil {
		t.Fatalf("%s is missing and cannot be installed: run make integration, which installs it: %v\n%s", name, err, out)
	}
	program, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// otherCA returns the file of a CA certificate that has not signed the depot's certificate.
func otherCA(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := tlscert.Open(dir, []string{"127.0.0.1"}, tlscert.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "ca.crt")
}

// writeFile writes a file to a new folder and returns the folder.
func writeFile(t *testing.T, path, text string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	full := filepath.Join(folder, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func host(t *testing.T, ref string) string {
	t.Helper()
	address, _, _ := strings.Cut(ref, "/")
	if _, _, err := net.SplitHostPort(address); err != nil {
		t.Fatal(err)
	}
	return address
}
