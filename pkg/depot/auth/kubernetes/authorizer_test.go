package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/akraino-icn/bpa/pkg/depot/auth"
)

// fakeAPI answers reviews with a function and counts them. Tests in test/integration use a real API
// server.
type fakeAPI struct {
	calls  atomic.Int32
	answer func(w http.ResponseWriter, r *http.Request)
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.calls.Add(1)
	f.answer(w, r)
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// newTestAuthorizer returns an Authorizer that asks a fake API server.
func newTestAuthorizer(t *testing.T, audience string, answer http.HandlerFunc) (*Authorizer, *fakeAPI, *clock) {
	t.Helper()
	api := &fakeAPI{answer: answer}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	c := &clock{now: time.Unix(1e9, 0)}
	r, err := newAuthorizer(&rest.Config{Host: server.URL}, audience, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.client.CloseIdleConnections)
	return r, api, c
}

// answerReviews accepts the token "good" for the audience, and gives alice the right to create.
func answerReviews(audience string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		if strings.HasSuffix(r.URL.Path, "tokenreviews") {
			var review authenticationv1.TokenReview
			_ = json.NewDecoder(r.Body).Decode(&review)
			if review.Spec.Token == "good" {
				review.Status.Authenticated = true
				review.Status.User = authenticationv1.UserInfo{Username: "alice", UID: "7", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
				review.Status.Audiences = []string{audience}
			} else {
				review.Status.Error = "token has expired"
			}
			_ = json.NewEncoder(w).Encode(review)
			return
		}
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		spec := review.Spec
		review.Status.Allowed = spec.User == "alice" && spec.UID == "7" && spec.Groups[0] == "g" && spec.Extra["k"][0] == "v" &&
			spec.ResourceAttributes.Verb == auth.Create && spec.ResourceAttributes.Group == auth.Group
		_ = json.NewEncoder(w).Encode(review)
	}
}

func TestUserAndRights(t *testing.T) {
	r, _, _ := newTestAuthorizer(t, "depot", answerReviews("depot"))
	user, err := r.Authenticate(t.Context(), "good")
	if err != nil {
		t.Fatal(err)
	}
	want := auth.User{Name: "alice", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	if diff := cmp.Diff(want, user); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for verb, want := range map[string]bool{auth.Create: true, auth.Delete: false} {
		got, err := r.Authorize(t.Context(), user, auth.Access{Verb: verb, Resource: auth.Images, Name: "app"})
		if err != nil || got != want {
			t.Errorf("%s: %t, %v; want %t", verb, got, err, want)
		}
	}
}

func TestRejectedTokens(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		token  string
		want   string
	}{
		"expired":        {answerReviews("depot"), "old", "token has expired"},
		"other audience": {answerReviews("elsewhere"), "good", "not for audience depot"},
		"API server without audiences": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status": {"authenticated": true, "user": {"username": "alice"}}}`)
		}, "good", "not for audience depot"},
		"no user": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"status": {"authenticated": true, "audiences": ["depot"]}}`)
		}, "good", "does not accept it"},
		"no status": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }, "good", "does not accept it"},
	} {
		r, _, _ := newTestAuthorizer(t, "depot", c.answer)
		_, err := r.Authenticate(t.Context(), c.token)
		var rejected *auth.Rejected
		if !errors.As(err, &rejected) || !strings.Contains(rejected.Why, c.want) {
			t.Errorf("%s: %v; want a rejection with %q", name, err, c.want)
		}
	}
}

// An error of the API server neither accepts nor refuses a token, and is not cached.
func TestNoAPIServer(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind": "Status", "message": "bpa-depot cannot create tokenreviews"}`)
		},
		"not JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"endless":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, largestAnswer+10)) },
		"broken off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"overloaded": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
	} {
		r, api, _ := newTestAuthorizer(t, "depot", answer)
		for range 2 {
			var rejected *auth.Rejected
			if _, err := r.Authenticate(t.Context(), "good"); err == nil || errors.As(err, &rejected) {
				t.Errorf("%s: token: %v", name, err)
			}
			if allowed, err := r.Authorize(t.Context(), auth.User{Name: "alice"}, auth.Access{Verb: auth.Create}); allowed || err == nil {
				t.Errorf("%s: right: %t, %v", name, allowed, err)
			}
		}
		if got := api.calls.Load(); got < 4 {
			t.Errorf("%s: %d calls for 4 questions: an error was cached", name, got)
		}
	}
}

func TestAnswersAreCachedForSeconds(t *testing.T) {
	r, api, clock := newTestAuthorizer(t, "depot", answerReviews("depot"))
	alice := auth.User{Name: "alice", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	for _, c := range []struct {
		name string
		ask  func() error
		ttl  time.Duration
	}{
		{"good token", func() error { _, err := r.Authenticate(t.Context(), "good"); return err }, acceptTTL},
		{"bad token", func() error {
			if _, err := r.Authenticate(t.Context(), "old"); err == nil {
				return errors.New("accepted")
			}
			return nil
		}, refuseTTL},
		{"right", func() error {
			_, err := r.Authorize(t.Context(), alice, auth.Access{Verb: auth.Create})
			return err
		}, acceptTTL},
		{"no right", func() error {
			_, err := r.Authorize(t.Context(), alice, auth.Access{Verb: auth.Delete})
			return err
		}, refuseTTL},
	} {
		for _, step := range []struct {
			after time.Duration
			calls int32
		}{{0, 1}, {c.ttl - time.Millisecond, 0}, {2 * time.Millisecond, 1}} {
			clock.pass(step.after)
			before := api.calls.Load()
			if err := c.ask(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if got := api.calls.Load() - before; got != step.calls {
				t.Errorf("%s, %s later: %d calls, want %d", c.name, step.after, got, step.calls)
			}
		}
	}
}

// Guessed tokens use bounded memory and do not displace cached answers about valid tokens.
func TestGuessesAreBounded(t *testing.T) {
	r, api, _ := newTestAuthorizer(t, "depot", answerReviews("depot"))
	if _, err := r.Authenticate(t.Context(), "good"); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * cacheSize {
		if _, err := r.Authenticate(t.Context(), fmt.Sprint("guess ", i)); err == nil {
			t.Fatal("a guess was right")
		}
	}
	if got := len(r.refused.Keys()); got > cacheSize {
		t.Errorf("%d refusals are cached, want %d at most", got, cacheSize)
	}
	before := api.calls.Load()
	if _, err := r.Authenticate(t.Context(), "good"); err != nil || api.calls.Load() != before {
		t.Errorf("the good token was forgotten: %v", err)
	}
}

func TestReviewsUnderWayAreBounded(t *testing.T) {
	var now, most atomic.Int32
	full, release := make(chan struct{}), make(chan struct{})
	r, _, _ := newTestAuthorizer(t, "depot", func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == parallel {
			close(full)
		}
		<-release
		answerReviews("depot")(w, r)
	})
	var all sync.WaitGroup
	for i := range parallel {
		all.Go(func() { _, _ = r.Authenticate(t.Context(), fmt.Sprint("guess ", i)) })
	}
	select {
	case <-full:
	case <-time.After(20 * time.Second):
		t.Error("the maximum of parallel reviews is never reached")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Authenticate(ctx, "one more"); err == nil || !strings.Contains(err.Error(), "under way already") {
		t.Errorf("one more: %v", err)
	}
	close(release)
	all.Wait()
	if got := most.Load(); got != parallel {
		t.Errorf("%d reviews at once, want %d", got, parallel)
	}
}

func TestCallLimit(t *testing.T) {
	release := make(chan struct{})
	r, _, _ := newTestAuthorizer(t, "depot", func(http.ResponseWriter, *http.Request) { <-release })
	// The server is closed after this cleanup, because closing it waits for the handler.
	t.Cleanup(func() { close(release) })
	began := time.Now()
	if _, err := r.Authenticate(t.Context(), "good"); err == nil {
		t.Error("no error")
	}
	if took := time.Since(began); took > 3*callLimit {
		t.Errorf("left after %s", took)
	}
}

func TestConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if config, err := Config(""); config != nil || err != nil {
		t.Errorf("outside of a cluster: %v, %v", config, err)
	}
	if _, err := Config("/absent"); err == nil || !strings.Contains(err.Error(), "kubeconfig /absent") {
		t.Errorf("error = %v", err)
	}
}
