//go:build integration

package backup

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/target"
	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

// TestBackupsAreCopiedToAnotherDepot copies a Backup from a depot to another one, as to any registry, and back after the
// first one has lost it.
func TestBackupsAreCopiedToAnotherDepot(t *testing.T) {
	root, own := targettest.StartDepot(t)
	s := newCopies(t, "http://"+own, token(t, root))
	otherRoot, other := targettest.StartDepot(t)
	login := targettest.File(t, 0o600, `{"auths": {"`+other+`": {"username": "machine", "password": "`+token(t, otherRoot)+`"}}}`)
	to, err := target.New("oci://"+other+"/site-1/backups", target.Access{Credentials: login})
	if err != nil {
		t.Fatal(err)
	}
	content := strings.Repeat("0123456789abcdef", 1<<18)
	artifact := s.add("nightly", content, ownDepot)
	s.add("elsewhere", content, "https://depot.elsewhere")
	const upload = "/v1/baremetalcluster/site/edge-1/binary_images/backup-nightly-01234567.tar.age"
	s.ask(t, http.MethodPut, upload+"/content", content, http.StatusCreated)

	for _, want := range []Copied{{Files: 1, Bytes: int64(len(content)), Present: 1}, {Present: 2}} {
		if done, err := s.Store(t.Context(), to); err != nil || done != want {
			t.Errorf("%+v, %v, want %+v", done, err, want)
		}
	}
	s.ask(t, http.MethodDelete, upload, "", http.StatusNoContent)
	s.ask(t, http.MethodGet, "/files/"+artifact, "", http.StatusNotFound)
	for _, want := range []Copied{{Files: 1, Bytes: int64(len(content)), Present: 1}, {Present: 2}} {
		if done, err := s.Return(t.Context(), to); err != nil || done != want {
			t.Errorf("%+v, %v, want %+v", done, err, want)
		}
	}
	if got := s.ask(t, http.MethodGet, "/files/"+artifact, "", http.StatusOK); got != content {
		t.Errorf("%d bytes, want %d", len(got), len(content))
	}

	// A copy that somebody has changed is refused by the depot.
	s.ask(t, http.MethodDelete, upload, "", http.StatusNoContent)
	folder := t.TempDir()
	names, err := to.List(t.Context())
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	if err := os.WriteFile(filepath.Join(folder, names[0]), []byte("x"+content[1:]), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, err := target.New(folder, target.Access{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Return(t.Context(), changed); err == nil || !strings.Contains(err.Error(), "Backup site/nightly: the depot answers 4") {
		t.Errorf("%v", err)
	}
	s.ask(t, http.MethodGet, "/files/"+artifact, "", http.StatusNotFound)
}

func token(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "local-token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (s *copiesSite) ask(t *testing.T, method, path, body string, want int) string {
	t.Helper()
	resp, err := s.do(t.Context(), method, path, strings.NewReader(body), int64(len(body)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: %s %.200s, %v, want %d", method, path, resp.Status, text, err, want)
	}
	return string(text)
}
