package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
	"github.com/akraino-icn/bpa/bootstrap/internal/target/targettest"
)

// copiesSite is a machine whose API server has Backups.
type copiesSite struct {
	Copies
	objects []map[string]any
}

func newCopies(t *testing.T, depot, token string) *copiesSite {
	t.Helper()
	s := &copiesSite{}
	s.Layout, s.Depot = layout.Layout{Root: t.TempDir()}, depot
	if err := s.Layout.Claim(); err != nil {
		t.Fatal(err)
	}
	put(t, s.Layout.DepotToken(), token+"\n")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/bpa.akraino.org/v1alpha1/backups" || s.objects == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": s.objects})
	}))
	t.Cleanup(api.Close)
	s.API = kubernetes.With(api.URL, api.Client())
	return s
}

// add adds a Backup of the cluster edge-1 with this content. It returns the path of its artifact.
func (s *copiesSite) add(name, content, depot string) string {
	sum := sha256.Sum256([]byte(content))
	artifact := "binary_images/site/edge-1/backup-" + name + "-01234567.tar.age"
	s.objects = append(s.objects, map[string]any{
		"metadata": map[string]string{"namespace": "site", "name": name},
		"status":   map[string]any{"depot": depot, "artifact": artifact, "size": len(content), "sha256": hex.EncodeToString(sum[:])},
	})
	return artifact
}

const ownDepot = "https://10.60.0.1:5443"

// stubDepot is a depot with files, which answers as the depot does.
func stubDepot(t *testing.T, files map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, there := files[strings.TrimPrefix(r.URL.Path, "/files/")]
		if _, token, _ := r.BasicAuth(); token != targettest.Password {
			w.WriteHeader(http.StatusUnauthorized)
		} else if !there {
			w.WriteHeader(http.StatusNotFound)
		} else {
			_, _ = io.WriteString(w, text)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestBackupsThatCannotBeCopied: one Backup does not keep the others from being copied, and nothing that is not whole counts.
func TestBackupsThatCannotBeCopied(t *testing.T) {
	files := map[string]string{}
	s := newCopies(t, stubDepot(t, files), targettest.Password)
	to, err := target.New(t.TempDir(), target.Access{})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.Store(t.Context(), to); err != nil || done != (Copied{}) {
		t.Errorf("a machine without BPA: %v, %v", done, err)
	}
	files[s.add("damaged", "content", ownDepot)] = "c0ntent"
	files[s.add("cut", "content", ownDepot)] = "cont"
	s.add("lost", "content", ownDepot)
	s.add("elsewhere", "content", "https://depot.elsewhere")
	files[s.add("good", "good content", ownDepot)] = "good content"
	s.objects = append(s.objects, map[string]any{"metadata": map[string]string{"name": "running"}, "status": map[string]any{"artifact": ""}})
	for _, want := range []Copied{{Files: 1, Bytes: 12, Present: 1}, {Present: 2}} {
		done, err := s.Store(t.Context(), to)
		if done != want {
			t.Errorf("%+v, want %+v", done, want)
		}
		for _, text := range []string{"Backup site/damaged: its content is damaged: 7 bytes", "Backup site/cut: its content is damaged: 4 bytes", "Backup site/lost: the depot does not have it"} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %q", err, text)
			}
		}
		if err != nil && (strings.Contains(err.Error(), "elsewhere") || strings.Contains(err.Error(), "good")) {
			t.Error(err)
		}
	}
	names, err := to.List(t.Context())
	if err != nil || len(names) != 1 || !strings.Contains(names[0], "-site.edge-1.backup-good-01234567-") {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := s.Return(t.Context(), to); err == nil || !strings.Contains(err.Error(), "Backup site/lost: neither the depot nor "+to.Address("")) {
		t.Errorf("%v", err)
	}
	unlock, err := lock(s.Layout.BackupLock() + ".copies")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store(t.Context(), to); !errors.Is(err, ErrRunning) {
		t.Errorf("two at the same time: %v", err)
	}
	unlock()
}

// A name of a copy is a tag of a registry.
func TestNamesOfCopiesFit(t *testing.T) {
	b := ClusterBackup{Artifact: "binary_images/" + strings.Repeat("n", 63) + "/" + strings.Repeat("c", 63) + "/backup-" + strings.Repeat("b", 253) + "-01234567.tar.age", SHA256: strings.Repeat("a", 64)}
	name := b.file("3f9a1c2e")
	other := b
	other.SHA256 = strings.Repeat("b", 64)
	if len(name) != 128 || name == other.file("3f9a1c2e") || !strings.HasSuffix(name, "-aaaaaaaaaaaa.tar.age") {
		t.Errorf("%d characters: %s", len(name), name)
	}
	b.Artifact = "binary_images/site/edge-1/backup-nightly-01234567.tar.age"
	if got, want := b.file("3f9a1c2e"), "bpa-backup-3f9a1c2e-site.edge-1.backup-nightly-01234567-aaaaaaaaaaaa.tar.age"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if names := fileName.FindStringSubmatch(name); names != nil || filepath.Base(name) != name {
		t.Errorf("%s looks like a backup of a machine", name)
	}
}
