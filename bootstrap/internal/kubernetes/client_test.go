package kubernetes

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// server answers with the given statuses in turn, and then with 200.
func server(t *testing.T, statuses ...int) (*Client, *[]string) {
	t.Helper()
	var requests []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+string(body))
		if len(statuses) > 0 {
			w.WriteHeader(statuses[0])
			statuses = statuses[1:]
		}
		_, _ = io.WriteString(w, `{"name": "a"}`)
	}))
	t.Cleanup(s.Close)
	return With(s.URL, s.Client()), &requests
}

// An API server that has just started says for a while that it still reads a kind.
func TestABusyServerIsAskedAgain(t *testing.T) {
	c, requests := server(t, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	if err := c.Patch(t.Context(), "/a", map[string]any{"x": nil}); err != nil {
		t.Fatal(err)
	}
	want := `PATCH /a application/merge-patch+json {"x":null}`
	if len(*requests) != 3 || (*requests)[2] != want {
		t.Errorf("%q", *requests)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c, _ = server(t, slicesOf(http.StatusTooManyRequests, 100)...)
	if err := c.Get(ctx, "/a", nil); err == nil || !strings.Contains(err.Error(), "429 Too Many Requests") {
		t.Errorf("%v", err)
	}
}

func TestOtherAnswersAreErrorsAtOnce(t *testing.T) {
	c, requests := server(t, http.StatusNotFound, http.StatusForbidden)
	var out struct{ Name string }
	if err := c.Get(t.Context(), "/a", &out); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := c.Get(t.Context(), "/a", &out); err == nil || !strings.Contains(err.Error(), "GET /a: 403 Forbidden") {
		t.Errorf("%v", err)
	}
	if err := c.Get(t.Context(), "/a", &out); err != nil || out.Name != "a" || len(*requests) != 3 {
		t.Errorf("%v, %q, %q", err, out.Name, *requests)
	}
}

func slicesOf(status, n int) (all []int) {
	for range n {
		all = append(all, status)
	}
	return all
}

// The supervisor makes a client each minute, for years.
func TestAClosedClientHasNoConnection(t *testing.T) {
	open := make(chan http.ConnState, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) { open <- state }
	s.Start()
	t.Cleanup(s.Close)
	c := With(s.URL, &http.Client{Transport: &http.Transport{}})
	if err := c.Apply(t.Context(), "/a", map[string]string{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []http.ConnState{http.StateNew, http.StateActive, http.StateIdle} {
		if got := <-open; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	c.Close()
	select {
	case got := <-open:
		if got != http.StateClosed {
			t.Errorf("%s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open")
	}
}
