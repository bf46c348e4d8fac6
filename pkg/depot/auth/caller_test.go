package auth

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

const statusPath = "/v1/baremetalcluster/c1/edge/status"

// The installation status comes from Kubernetes, so no listener serves it to anonymous clients.
func TestStatusNeedsAToken(t *testing.T) {
	fake := newFake()
	fake.may[robot] = append(fake.may[robot], Access{Get, ArtifactStatus, "c1", "edge"})
	served := http.HandlerFunc(store)
	log := slog.New(slog.DiscardHandler)
	for name, c := range map[string]struct {
		handler      http.Handler
		path, token  string
		code         int
		anyoneElseIs int
	}{
		"tls":          {newHandler(fake), statusPath, "tok-robot", 200, 401},
		"one node":     {newHandler(fake), statusPath + "/n1", "tok-robot", 200, 401},
		"encoded":      {newHandler(fake), "/v1/baremetalcluster/c1/edge/%73tatus", "tok-robot", 200, 401},
		"other owner":  {newHandler(fake), "/v1/baremetalcluster/c2/edge/status", "tok-robot", 403, 401},
		"no right":     {newHandler(fake), statusPath, "tok-eve", 403, 401},
		"plain":        {ReadOnly(served, "Write elsewhere."), statusPath, "tok-robot", 403, 403},
		"other reads":  {newHandler(fake), "/v1/baremetalcluster/c1/edge", "", 200, 200},
		"plain, other": {ReadOnly(served, ""), "/v1/packages", "", 200, 200},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			if got := ask(c.handler, method, c.path, "Authorization", "Bearer "+c.token); got.Code != c.code && c.token != "" {
				t.Errorf("%s: %s with a token = %d %s, want %d", name, method, got.Code, got.Body, c.code)
			}
			if got := ask(c.handler, method, c.path); got.Code != c.anyoneElseIs {
				t.Errorf("%s: %s without a token = %d %s, want %d", name, method, got.Code, got.Body, c.anyoneElseIs)
			}
		}
	}
	loopback := Loopback(served, "secret", "cat token", log)
	for token, want := range map[string]int{"": 401, "wrong": 401, "secret": 200} {
		if got := askLocally(loopback, token); got.Code != want {
			t.Errorf("loopback with token %q: %d, want %d", token, got.Code, want)
		}
	}
}

func askLocally(h http.Handler, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://localhost:5000"+statusPath, nil)
	r.RemoteAddr = "127.0.0.1:40000"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// May asks with the account of the request.
func TestMay(t *testing.T) {
	status := Access{Get, ArtifactStatus, "c1", "edge"}
	fake := newFake()
	fake.may[robot] = append(fake.may[robot], status)
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed, err := May(r.Context(), status)
		other, _ := May(r.Context(), Access{Get, ArtifactStatus, "c2", "edge"})
		w.Header().Set("May", strconv.FormatBool(allowed)+" "+strconv.FormatBool(other))
		if err != nil {
			t.Error(err)
		}
	})
	tls := New(next, WithAuthorizer(fake), WithLogger(slog.New(slog.DiscardHandler)))
	for name, c := range map[string]struct {
		got  *httptest.ResponseRecorder
		want string
	}{
		"admitted":        {ask(tls, "GET", statusPath, "Authorization", "Bearer tok-robot"), "true false"},
		"anonymous":       {ask(tls, "GET", "/v1/packages", "Authorization", "Bearer tok-robot"), "false false"},
		"no handler":      {ask(next, "GET", statusPath), "false false"},
		"local token":     {askLocally(Loopback(next, "secret", "", slog.New(slog.DiscardHandler)), "secret"), "true true"},
		"socket file":     {askLocally(Local(next), ""), "true true"},
		"plain, no right": {ask(ReadOnly(next, ""), "GET", "/v1/packages"), "false false"},
	} {
		if got := c.got.Header().Get("May"); got != c.want {
			t.Errorf("%s: %q, want %q (%d %s)", name, got, c.want, c.got.Code, c.got.Body)
		}
	}
}
