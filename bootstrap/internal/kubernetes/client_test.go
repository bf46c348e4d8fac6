package kubernetes

import (
	"context"
	"errors"
	"io"
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
