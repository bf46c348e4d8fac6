//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // registers the storage "filesystem"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sirupsen/logrus"

	"github.com/akraino-icn/bpa/test/site"
)

// upstream is the distribution project's registry at an address that pods can reach. It counts the
// reads of blobs.
type upstream struct {
	host   string
	server *httptest.Server

	mu    sync.Mutex
	reads map[string]int // number of reads by the blob's path
}

func startUpstream(t *testing.T, address string) *upstream {
	t.Helper()
	logrus.SetLevel(logrus.FatalLevel) // otherwise the registry logs each HEAD of missing content as an error
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	app := handlers.NewApp(ctx, &configuration.Configuration{
		Version: configuration.MajorMinorVersion(0, 1),
		Log:     configuration.Log{Level: "fatal"},
		Storage: configuration.Storage{"filesystem": {"rootdirectory": t.TempDir()}},
	})
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{host: listener.Addr().String(), reads: map[string]int{}}
	u.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.count(r)
		app.ServeHTTP(w, r)
	}))
	u.server.Listener.Close()
	u.server.Listener = listener
	u.server.Start()
	t.Cleanup(u.server.Close)
	return u
}

func (u *upstream) count(r *http.Request) {
	if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/sha256:") {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reads[r.URL.Path]++
}

// blobs returns the number of different blobs that were read, and the number of all reads.
func (u *upstream) blobs() (different, all int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, n := range u.reads {
		all += n
	}
	return len(u.reads), all
}

// publish pushes an image for two architectures and returns its reference and its index. The amd64
// image can run. Its content is new in every test.
func (u *upstream) publish(t *testing.T, repository string) (ref string, index v1.ImageIndex) {
	t.Helper()
	pause, err := os.ReadFile(filepath.Join(site.State(), "bin", "pause"))
	if err != nil {
		t.Fatal(err)
	}
	index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range []string{"amd64", "arm64"} {
		made := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		made, err := mutate.ConfigFile(made, &v1.ConfigFile{
			OS: "linux", Architecture: architecture, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{Entrypoint: []string{"/pause"}},
		})
		if err == nil {
			made, err = mutate.AppendLayers(made, fileLayer(t, "pause", pause), fileLayer(t, "random", random(1<<20)))
		}
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: made, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	parsed, err := name.ParseReference(u.host + "/" + repository)
	if err == nil {
		err = remote.WriteIndex(parsed, index)
	}
	if err != nil {
		t.Fatal(err)
	}
	return parsed.String(), index
}

func random(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.Read(content) // never fails, by its contract
	return content
}

// fileLayer returns a layer with one executable file.
func fileLayer(t *testing.T, name string, content []byte) v1.Layer {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return layer
}
