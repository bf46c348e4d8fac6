package depot

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// failing is an importer that refuses every archive.
type failing struct{}

func (failing) Import(context.Context, string, int64, func() (io.ReadSeekCloser, error)) ([]string, error) {
	return nil, errors.New("no space")
}

func (f failing) Restore(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return f.Import(ctx, name, size, open)
}

// hanging is an importer that waits until on is closed or ctx ends.
type hanging struct{ begun, on chan struct{} }

func (h hanging) Import(ctx context.Context, _ string, _ int64, _ func() (io.ReadSeekCloser, error)) ([]string, error) {
	close(h.begun)
	select {
	case <-h.on:
		return []string{"a:v1"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h hanging) Restore(ctx context.Context, name string, size int64, open func() (io.ReadSeekCloser, error)) ([]string, error) {
	return h.Import(ctx, name, size, open)
}

func opened(t *testing.T, dir string, opts ...Option) *Depot {
	t.Helper()
	d, err := New(dir, append(opts, WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// request sends a request to d and returns the answer. The test fails if its status is not want.
func request(t *testing.T, d *Depot, want int, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if w.Code != want {
		t.Fatalf("%s %s = %d %s, want %d", method, path, w.Code, w.Body, want)
	}
	return w
}

// leftArchive returns a depot's directory that holds a blob, an archive whose bytes are complete
// but whose import failed, and an upload that is half done.
func leftArchive(t *testing.T) (dir, blob string) {
	t.Helper()
	dir = t.TempDir()
	d := opened(t, dir, func(o *options) { o.importer = failing{} })
	blob = "/v2/app/blobs/" + digest.FromString("a layer").String()
	location := request(t, d, http.StatusAccepted, "POST", "/v2/app/blobs/uploads/", "").Header().Get("Location")
	request(t, d, http.StatusCreated, "PUT", location+"&digest="+digest.FromString("a layer").String(), "a layer")
	request(t, d, http.StatusCreated, "POST", archives, `{"owner": "o", "image_name": "a", "image_length": 4}`, "Content-Type", "application/json")
	request(t, d, http.StatusInternalServerError, "PATCH", archives+"/a", "abcd", "Upload-Offset", "0")
	request(t, d, http.StatusCreated, "POST", osImages, `{"owner": "o", "image_name": "open", "image_length": 4}`, "Content-Type", "application/json")
	request(t, d, http.StatusNoContent, "PATCH", osImages+"/open", "ab", "Upload-Offset", "0")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, blob
}

const (
	archives = "/v1/baremetalcluster/o/c/container_images"
	osImages = "/v1/baremetalcluster/o/c/os_images"
)

// ended waits until the archive of leftArchive is recovered.
func ended(t *testing.T, d *Depot) {
	t.Helper()
	left := protocol.Ref{Owner: "o", Cluster: "c", Kind: protocol.ContainerImages, Name: "a"}
	for deadline := time.Now().Add(20 * time.Second); d.uploads.Recovering(left); time.Sleep(time.Millisecond) { // between two questions
		if time.Now().After(deadline) {
			t.Fatal("the recovery does not end")
		}
	}
}

func TestWhatIsThereCanBePulledWhileARecoveryHangs(t *testing.T) {
	dir, blob := leftArchive(t)
	h := hanging{make(chan struct{}), make(chan struct{})}
	d := opened(t, dir, func(o *options) { o.importer = h })
	defer d.Close() //nolint:errcheck // the test has ended
	<-h.begun
	if got := request(t, d, http.StatusOK, "GET", blob, "").Body.String(); got != "a layer" {
		t.Errorf("pulled %q", got)
	}
	request(t, d, http.StatusOK, "GET", "/readyz", "")
	if got := request(t, d, http.StatusOK, "GET", archives+"/a", ""); got.Header().Get("Upload-Offset") != "4" || !strings.Contains(got.Body.String(), `"upload_complete":false`) {
		t.Errorf("the upload in recovery is %s at %s", got.Body, got.Header().Get("Upload-Offset"))
	}
	request(t, d, http.StatusNotFound, "GET", archives+"/a/content", "")
	if got := request(t, d, http.StatusServiceUnavailable, "DELETE", archives+"/a", ""); !strings.Contains(got.Body.String(), "restarted") || got.Header().Get("Retry-After") == "" {
		t.Errorf("a change during recovery = %s %v", got.Body, got.Header())
	}
	request(t, d, http.StatusCreated, "PUT", osImages+"/b/content", "another")
	request(t, d, http.StatusNoContent, "PATCH", osImages+"/open", "cd", "Upload-Offset", "2")

	close(h.on)
	ended(t, d)
	request(t, d, http.StatusOK, "GET", archives+"/a/content", "")
	request(t, d, http.StatusNoContent, "DELETE", archives+"/a", "")
}

// Close does not wait for a recovery: the next start begins it again.
func TestAStopEndsARecoveryThatGoesOnAtTheNextStart(t *testing.T) {
	dir, _ := leftArchive(t)
	h := hanging{make(chan struct{}), make(chan struct{})}
	d := opened(t, dir, func(o *options) { o.importer = h })
	<-h.begun
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	h = hanging{make(chan struct{}), make(chan struct{})}
	d = opened(t, dir, func(o *options) { o.importer = h })
	close(h.on)
	ended(t, d)
	request(t, d, http.StatusOK, "GET", archives+"/a/content", "")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
