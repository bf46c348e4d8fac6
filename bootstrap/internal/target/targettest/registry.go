// Package targettest has servers for the tests of backups. It must not import package target, whose tests use it.
package targettest

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Password is in all credentials.
const Password = "pass-word"

// Registry is a registry behind TLS and a login. The user "reader" may only read, and "writer" may not remove.
type Registry struct {
	*httptest.Server
	Address string
	CA      string // file
	Cut     string // if set, a blob with this text ends in its middle
	store   http.Handler
	tags    map[string]string
}

// Repository is the only repository of a Registry.
const Repository = "site/backups"

// StartRegistry starts an empty registry.
func StartRegistry(t *testing.T) *Registry {
	t.Helper()
	s := &Registry{store: registry.New(registry.Logger(log.New(io.Discard, "", 0))), tags: map[string]string{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	s.Address = strings.TrimPrefix(s.URL, "https://")
	s.CA = File(t, 0o644, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	return s
}

func (s *Registry) serve(w http.ResponseWriter, r *http.Request) {
	user, secret, _ := r.BasicAuth()
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	reference, manifest := strings.CutPrefix(r.URL.Path, "/v2/"+Repository+"/manifests/")
	switch {
	case secret != Password:
		w.Header().Set("WWW-Authenticate", `Basic realm="site"`)
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED")
	case user == "reader" && !read:
		refuse(w, http.StatusForbidden, "DENIED")
	case user == "writer" && r.Method == http.MethodDelete && manifest:
		refuse(w, http.StatusMethodNotAllowed, "UNSUPPORTED")
	case s.Cut != "" && read && strings.Contains(r.URL.Path, "/blobs/"):
		w.Header().Set("Content-Length", fmt.Sprint(len(s.Cut)))
		_, _ = io.WriteString(w, s.Cut[:len(s.Cut)/2])
	default:
		s.store.ServeHTTP(w, r)
		if manifest && r.Method == http.MethodPut {
			s.tags[reference] = w.Header().Get("Docker-Content-Digest")
		}
		if manifest && r.Method == http.MethodDelete {
			s.removeTags(reference)
		}
	}
}

// removeTags removes the tags of a manifest that was removed, as other registries do.
func (s *Registry) removeTags(removed string) {
	for tag, digest := range s.tags {
		if digest == removed {
			s.store.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodDelete, "/v2/"+Repository+"/manifests/"+tag, nil))
		}
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"errors": [{"code": "`+code+`", "message": "the server says so"}]}`)
}

// Login writes a file with a login for the registry, in the format of Docker.
func (s *Registry) Login(t *testing.T, user, password string) string {
	t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return File(t, 0o600, `{"auths": {"`+s.Address+`": {"auth": "`+auth+`"}}}`)
}

// File writes a file.
func File(t *testing.T, mode fs.FileMode, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
