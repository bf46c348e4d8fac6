package images

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
)

func TestRegistryClientsFindTheLoginAndOtherUsersCannotReadIt(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "local-token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	login, err := Login(token)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "etc", "docker")
	if err := WriteLogin(folder, "127.0.0.1:5000", login); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, "config.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
	t.Setenv("DOCKER_CONFIG", folder)
	for address, want := range map[string]string{"127.0.0.1:5000": "secret", "10.60.0.1:5000": "", "registry.example": ""} {
		at, err := name.NewRegistry(address)
		if err != nil {
			t.Fatal(err)
		}
		found, err := authn.DefaultKeychain.Resolve(at)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := found.Authorization(); err != nil || got.Password != want {
			t.Errorf("clients send %s the password %q, %v; want %q", address, got.Password, err, want)
		}
	}
	if _, err := Login(token + "-missing"); err == nil || !strings.Contains(err.Error(), "machine status") {
		t.Errorf("without a token: %v", err)
	}
}

func TestPushSendsItsCredentials(t *testing.T) {
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "secret" && (r.Method != http.MethodHead || r.URL.Path == "/v2/") {
			w.Header().Set("WWW-Authenticate", `Basic realm="depot"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, r)
	}))
	defer server.Close()
	ref, img := strings.TrimPrefix(server.URL, "http://")+"/base/static:latest", static(t, "1")
	if _, err := Push(t.Context(), ref, img, authn.Anonymous); err == nil {
		t.Error("an anonymous push succeeded: the test's registry does not require credentials")
	}
	if pushed, err := Push(t.Context(), ref, img, &authn.Basic{Username: user, Password: "secret"}); err != nil || !pushed {
		t.Errorf("pushed: %t, %v", pushed, err)
	}
}
