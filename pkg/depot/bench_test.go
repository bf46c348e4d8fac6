package depot_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // the plain registry stores its content with this driver
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/akraino-icn/bpa/pkg/depot"
)

// benchSize is the number of bytes that each comparison transfers.
const benchSize = 256 << 20

// fresh returns an image of four layers with new random content.
func fresh(b *testing.B) v1.Image {
	b.Helper()
	img := empty.Image
	for range 4 {
		content := make([]byte, benchSize/4)
		_, _ = rand.Read(content) // it is documented never to fail
		var err error
		if img, err = mutate.AppendLayers(img, static.NewLayer(content, types.OCIUncompressedLayer)); err != nil {
			b.Fatal(err)
		}
	}
	return img
}

func open(b *testing.B) *httptest.Server {
	b.Helper()
	d, err := depot.New(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(d)
	b.Cleanup(func() {
		server.Close()
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	return server
}

// distribution starts the plain registry of the distribution project, on which the depot is based.
func distribution(b *testing.B) *httptest.Server {
	b.Helper()
	app := handlers.NewApp(b.Context(), &configuration.Configuration{
		Storage: configuration.Storage{"filesystem": {"rootdirectory": b.TempDir()}, "redirect": {"disable": true}},
	})
	server := httptest.NewServer(app)
	b.Cleanup(server.Close)
	return server
}

// BenchmarkRegistry compares pushes and pulls with the plain registry. The goal is a ratio of 1.0.
func BenchmarkRegistry(b *testing.B) {
	ours, plain := open(b), distribution(b)
	push := func(s *httptest.Server, img v1.Image) time.Duration {
		started := time.Now()
		if err := remote.Write(benchRef(b, s), img); err != nil {
			b.Fatal(err)
		}
		return time.Since(started)
	}
	pull := func(s *httptest.Server) time.Duration {
		started := time.Now()
		img, err := remote.Image(benchRef(b, s))
		if err != nil {
			b.Fatal(err)
		}
		layers, err := img.Layers()
		if err != nil {
			b.Fatal(err)
		}
		for _, l := range layers {
			r, err := l.Compressed()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				b.Fatal(err)
			}
			_ = r.Close()
		}
		return time.Since(started)
	}
	var pushed, pulled, plainPushed, plainPulled time.Duration
	for b.Loop() {
		plainPushed += push(plain, fresh(b))
		pushed += push(ours, fresh(b))
		plainPulled += pull(plain)
		pulled += pull(ours)
	}
	b.ReportMetric(pushed.Seconds()/plainPushed.Seconds(), "push-ratio")
	b.ReportMetric(pulled.Seconds()/plainPulled.Seconds(), "pull-ratio")
}

func benchRef(b *testing.B, s *httptest.Server) name.Tag {
	b.Helper()
	ref, err := name.NewTag(strings.TrimPrefix(s.URL, "http://") + "/bench:v1")
	if err != nil {
		b.Fatal(err)
	}
	return ref
}

// BenchmarkUpload compares a durable, checked upload with the commands cp and sha256sum on the same
// file. The goal is a ratio of 1.2. Client and depot run in this process.
func BenchmarkUpload(b *testing.B) {
	url := open(b).URL
	file := filepath.Join(b.TempDir(), "file")
	var uploads, copies time.Duration
	for n := 0; b.Loop(); n++ {
		content := make([]byte, benchSize)
		_, _ = rand.Read(content) // it is documented never to fail
		if err := os.WriteFile(file, content, 0o600); err != nil {
			b.Fatal(err)
		}
		copies += timed(b, func() error { return copyAndSum(file, file+".copy") })
		uploads += timed(b, func() error {
			return uploadFile(fmt.Sprintf("%s/v1/baremetalcluster/o/c/os_images/n%d/content", url, n), file)
		})
	}
	b.ReportMetric(uploads.Seconds()/copies.Seconds(), "upload-ratio")
}

func timed(b *testing.B, do func() error) time.Duration {
	b.Helper()
	started := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(started)
}

func uploadFile(url, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	req, err := http.NewRequest(http.MethodPut, url, f)
	if err != nil {
		return err
	}
	req.ContentLength = benchSize
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("PUT %s = %s", url, resp.Status)
	}
	return nil
}

func copyAndSum(from, to string) error {
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	if out, err := exec.Command("sha256sum", to).CombinedOutput(); err != nil {
		return fmt.Errorf("sha256sum: %w: %s", err, out)
	}
	return nil
}
