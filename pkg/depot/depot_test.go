package depot_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/registry"
)

func TestMain(m *testing.M) {
	registry.RedirectLog(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// serve starts a depot in dir, on a loopback address.
func serve(t *testing.T, dir string, opts ...depot.Option) *httptest.Server {
	t.Helper()
	opts = append([]depot.Option{depot.WithLogger(slog.New(slog.DiscardHandler))}, opts...)
	d, err := depot.New(dir, opts...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d)
	t.Cleanup(func() {
		server.Close()
		if err := d.Close(); err != nil {
			t.Errorf("close depot: %v", err)
		}
	})
	return server
}

// put copies a file into files/ directly, as an administrator does.
func put(t *testing.T, dir, name, content string) {
	t.Helper()
	full := filepath.Join(dir, "files", name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

type answer struct {
	status int
	body   string
	header http.Header
}

func ask(t *testing.T, method, url string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, string(body), resp.Header}
}

func TestHealthAndReadiness(t *testing.T) {
	dir := t.TempDir()
	url := serve(t, dir).URL
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := ask(t, "GET", url+path); got.status != http.StatusOK {
			t.Errorf("GET %s = %d %q, want 200", path, got.status, got.body)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "registry")); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "GET", url+"/readyz"); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "registry") {
		t.Errorf("GET /readyz without storage = %d %q, want 503 naming registry", got.status, got.body)
	}
	if got := ask(t, "GET", url+"/healthz"); got.status != http.StatusOK {
		t.Errorf("GET /healthz without storage = %d, want 200: a restart would not help", got.status)
	}
}

func TestNewSaysWhichRootFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "occupied")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := depot.New(file)
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("New(%s) = %v, want an error that names it", file, err)
	}
}

func ExampleNew() {
	dir, err := os.MkdirTemp("", "depot")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	d, err := depot.New(dir)
	if err != nil {
		panic(err)
	}
	defer d.Close()
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, httptest.NewRequest("GET", "/v2/", nil))
	fmt.Println(rec.Code, rec.Header().Get("Docker-Distribution-API-Version"))
	// Output: 200 registry/2.0
}
