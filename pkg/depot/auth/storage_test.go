package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Reads of most paths need no token. What the depot holds is shown only to accounts with a role, and
// never over a connection that others can read.
func TestUsageNeedsAToken(t *testing.T) {
	served := 0
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ })
	for _, path := range []string{"/v1/usage", "/v1/gc"} {
		for name, c := range map[string]struct {
			handler http.Handler
			status  int
			text    string
		}{
			"TLS":   {New(next, WithAuthorizer(Secret("secret"))), http.StatusUnauthorized, "token"},
			"plain": {ReadOnly(next, ""), http.StatusForbidden, "what the depot holds"},
		} {
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
				t.Errorf("%s: GET %s without a token = %d %s, want %d with %q", name, path, w.Code, w.Body, c.status, c.text)
			}
		}
	}
	if served > 0 {
		t.Errorf("%d requests were served", served)
	}
}
