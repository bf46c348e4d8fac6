package client

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// The key becomes a file on all nodes, so the client takes nothing else in its place.
func TestPackageKey(t *testing.T) {
	const key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nx\n"
	for name, tc := range map[string]struct {
		status       int
		answer, want string
		problem      string
	}{
		"key":           {200, key, key, ""},
		"no key":        {404, "not found", "", ""},
		"a page":        {200, "<html>log in</html>", "", "not a public key"},
		"a private key": {200, "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", "", "not a public key"},
		"too long":      {200, key + strings.Repeat("x", protocol.MaxPackageKey), "", "not a public key"},
		"refused":       {403, "no", "", "get the key for OS packages"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == protocol.PackageKeyPath {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.answer))
			}
		}))
		depot, err := Connect(t.Context(), server.URL, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := depot.PackageKey(t.Context())
		if string(got) != tc.want || (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
			t.Errorf("%s: %q, %v, want %q and %q", name, got, err, tc.want, tc.problem)
		}
		depot.Close()
		server.Close()
	}
}
