package images

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func TestStaticIsReproducibleAndLetsPodsRunAsNonroot(t *testing.T) {
	img := static(t, "certificates")
	if a, b := digest(t, img), digest(t, static(t, "certificates")); a != b {
		t.Errorf("the same inputs gave two digests: %s and %s", a, b)
	}
	files := contents(t, img)
	if !strings.Contains(files["etc/passwd"], "nonroot:x:65532:65532:") {
		t.Errorf("passwd lacks nonroot: %q", files["etc/passwd"])
	}
	if _, there := files["tmp"]; !there {
		t.Error("no /tmp")
	}
	if got := files["etc/ssl/certs/ca-certificates.crt"]; got != "certificates" {
		t.Errorf("trusted authorities: %q", got)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != nonroot || config.OS != "linux" || config.Architecture != "amd64" {
		t.Errorf("user %q, platform %s/%s", config.Config.User, config.OS, config.Architecture)
	}
}

func TestPauseContainsItsProgram(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "any-name")
	if err := os.WriteFile(binary, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := Pause(binary, "amd64")
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, img)["pause"]; got != "program" {
		t.Errorf("/pause holds %q", got)
	}
	if _, err := Pause(binary+"-missing", "amd64"); err == nil {
		t.Error("no error for a program that was not built")
	}
}

func TestPushSkipsPresentImages(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref := strings.TrimPrefix(server.URL, "http://") + "/base/static:latest"
	if Exists(t.Context(), ref) {
		t.Error("found in an empty registry")
	}
	for i, step := range []struct {
		certs string
		want  bool
	}{{"1", true}, {"1", false}, {"2", true}} {
		img := static(t, step.certs)
		pushed, err := Push(t.Context(), ref, img, authn.Anonymous)
		if err != nil || pushed != step.want {
			t.Errorf("push %d: %t, %v; want %t", i, pushed, err, step.want)
		}
		pinned, err := Pinned(t.Context(), ref)
		if err != nil || !strings.HasSuffix(pinned, "/base/static@"+digest(t, img)) {
			t.Errorf("push %d: pinned %s, %v", i, pinned, err)
		}
	}
}

func static(t *testing.T, certs string) v1.Image {
	t.Helper()
	img, err := Static([]byte(certs), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func digest(t *testing.T, img v1.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func contents(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	stream := mutate.Extract(img)
	defer stream.Close()
	files := map[string]string{}
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(h.Name, "/")] = string(data)
	}
}
