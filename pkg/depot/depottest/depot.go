package depottest

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/registry"
)

// Depot is a running depot. URL has no slash at its end. Dir is its root directory.
type Depot struct {
	URL string
	Dir string

	mu    sync.Mutex
	calls []string
}

// Start runs a depot until the test ends.
func Start(t testing.TB) *Depot {
	t.Helper()
	registry.RedirectLog(slog.New(slog.DiscardHandler))
	dir := t.TempDir()
	real, err := depot.New(dir, depot.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	d := &Depot{Dir: dir}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.note(r)
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.Close()
		if err := real.Close(); err != nil {
			t.Error(err)
		}
	})
	d.URL = server.URL
	return d
}

func (d *Depot) note(r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, r.Method+" "+r.URL.Path)
}

// Calls returns the requests since the start or the last Forget, each as "GET /v2/".
func (d *Depot) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.calls...)
}

// Forget clears the list of Calls.
func (d *Depot) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = nil
}

// Uploads returns the number of requests in Calls that can change the depot: all but GET and HEAD.
func (d *Depot) Uploads() (n int) {
	for _, c := range d.Calls() {
		if !strings.HasPrefix(c, http.MethodGet) && !strings.HasPrefix(c, http.MethodHead) {
			n++
		}
	}
	return n
}

// Put copies a file into the depot's folder of plain files, as an administrator does, and returns
// its SHA-256.
func (d *Depot) Put(t testing.TB, path string, content []byte) string {
	t.Helper()
	file := filepath.Join(d.Dir, "files", filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return Sum(content)
}

// Sum returns the SHA-256 of content in hexadecimal.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
