package artifacts

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/test/lab/pack"
)

// newBuilder returns a Builder for an empty registry. writes counts the manifests that were pushed.
func newBuilder(t *testing.T) (s *Builder, writes *int) {
	t.Helper()
	writes = new(int)
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/") {
			*writes++
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &Builder{State: t.TempDir(), Registry: strings.TrimPrefix(server.URL, "http://"), Log: io.Discard}, writes
}

// layerOf returns the path of a layer with this content. A second call with the same content does
// not create the file again, because its modification time would change, and with it the key of an
// image.
func layerOf(t *testing.T, s *Builder, content string) string {
	t.Helper()
	path, err := s.packedLayer(content, "", pack.Entry{Name: "file", Content: []byte(content)})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPushSkipsPresentImages(t *testing.T) {
	s, writes := newBuilder(t)
	push := func(why, content string, want int) {
		t.Helper()
		err := s.push(t.Context(), image{"lab/thing:v1", []string{layerOf(t, s, content)}, v1.Config{Entrypoint: []string{"/file"}}})
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		if *writes != want {
			t.Errorf("%s: %d manifests written, want %d", why, *writes, want)
		}
	}
	push("an empty registry", "one", 1)
	push("nothing changed", "one", 1)
	push("another layer", "two", 2)
	emptied, count := newBuilder(t)
	s.Registry, writes = emptied.Registry, count
	push("the registry was emptied", "two", 1)
}

func TestPushedImageHasItsConfig(t *testing.T) {
	s, _ := newBuilder(t)
	config := v1.Config{Entrypoint: []string{"/file"}, User: "65532:65532", WorkingDir: "/kubespray"}
	if err := s.push(t.Context(), image{"base/thing:latest", []string{layerOf(t, s, "x")}, config}); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(s.Registry + "/base/thing:latest")
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	got, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got.OS != "linux" || got.Architecture != "amd64" || got.Config.User != config.User || got.Config.WorkingDir != config.WorkingDir {
		t.Errorf("config = %+v", got)
	}
}

// TestPushSendsTheTokenToTheLocalListener checks that push sends the depot's token to the registry
// at PushTo.
func TestPushSendsTheTokenToTheLocalListener(t *testing.T) {
	s, writes := newBuilder(t)
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="depot"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.URL.Scheme, r.URL.Host = "http", s.Registry
		(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
	}))
	defer listener.Close()
	s.PushTo = strings.TrimPrefix(listener.URL, "http://")
	thing := image{"lab/thing:v1", []string{layerOf(t, s, "one")}, v1.Config{}}
	if err := s.push(t.Context(), thing); err == nil || !strings.Contains(err.Error(), "machine status") {
		t.Errorf("without a token: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(s.State, "depot"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.State, "depot", "local-token"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.push(t.Context(), thing); err != nil || *writes != 1 {
		t.Errorf("%d manifests written, %v; want one", *writes, err)
	}
}

func TestRequireImagesNamesTheImageAndTheCommand(t *testing.T) {
	s, _ := newBuilder(t)
	err := s.requireImages("pause:3.10.1")
	if err == nil || !strings.Contains(err.Error(), "pause:3.10.1") || !strings.Contains(err.Error(), "make base") {
		t.Errorf("requireImages() = %v", err)
	}
}
