package auth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// fakeAuthorizer is an Authorizer with fixed users and rights. Tests in test/integration use a real
// API server.
type fakeAuthorizer struct {
	users map[string]User
	may   map[string][]Access
	gone  bool
}

func (f *fakeAuthorizer) Authenticate(_ context.Context, token string) (User, error) {
	if f.gone {
		return User{}, errors.New("connection refused")
	}
	if user, ok := f.users[token]; ok {
		return user, nil
	}
	return User{}, &Rejected{Why: "token expired"}
}

func (f *fakeAuthorizer) Authorize(_ context.Context, user User, access Access) (bool, error) {
	for _, a := range f.may[user.Name] {
		if a == access {
			return true, nil
		}
	}
	return false, nil
}

const robot = "system:serviceaccount:ci:pusher"

func newFake() *fakeAuthorizer {
	return &fakeAuthorizer{
		users: map[string]User{"tok-robot": {Name: robot}, "tok-eve": {Name: "eve; rm -rf /"}},
		may:   map[string][]Access{robot: {{Update, Files, "", "a"}, {Get, Files, "", "a"}, {Update, Artifacts, "c1", "edge"}}},
	}
}

// store stands for the handler behind auth. It fails if it receives credentials.
func store(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization") + r.Header.Get("X-HTTP-Method-Override"); got != "" {
		http.Error(w, "the store received "+got, http.StatusTeapot)
		return
	}
	_, _ = io.WriteString(w, "served")
}

func newHandler(f *fakeAuthorizer, opts ...Option) http.Handler {
	opts = append([]Option{WithAuthorizer(f), WithLogger(slog.New(slog.DiscardHandler)), WithTokenCommand("kubectl create token ACCOUNT --audience=x")}, opts...)
	return New(http.HandlerFunc(store), opts...)
}

func ask(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://depot.example:5443"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandler(t *testing.T) {
	const bearer = "Bearer tok-robot"
	basic := func(token string) string {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("anything", token)
		return r.Header.Get("Authorization")
	}
	gone := newFake()
	gone.gone = true
	private := WithAnonymousRead(false)
	for _, tt := range []struct {
		name    string
		handler http.Handler
		method  string
		path    string
		token   string
		status  int
		text    string
	}{
		{"anonymous read", newHandler(newFake()), "GET", "/files/a", "", 200, "served"},
		{"read with an expired token", newHandler(newFake()), "GET", "/files/a", "Bearer old", 200, "served"},
		{"read while the API server is gone", newHandler(gone), "GET", "/files/a", bearer, 200, "served"},
		{"anonymous write", newHandler(newFake()), "PUT", "/files/a", "", 401, "kubectl create token ACCOUNT --audience=x"},
		{"write with Bearer", newHandler(newFake()), "PUT", "/files/a", bearer, 200, "served"},
		{"write with Basic", newHandler(newFake()), "PUT", "/files/a", basic("tok-robot"), 200, "served"},
		{"write in the owner's namespace", newHandler(newFake()), "PUT", "/v1/baremetalcluster/c1/edge/os_images/x", bearer, 200, "served"},
		{"write for another owner", newHandler(newFake()), "PUT", "/v1/baremetalcluster/c2/edge/os_images/x", bearer, 403, "kubectl create rolebinding ci-pusher-bpa-depot-writer -n c2 --clusterrole=bpa-depot-writer --serviceaccount=ci:pusher"},
		{"archive without a right to images", newHandler(newFake()), "PUT", "/v1/baremetalcluster/c1/edge/container_images/x", bearer, 403, "may not create images.depot.bpa.akraino.org. To allow it: kubectl create clusterrolebinding"},
		{"another file", newHandler(newFake()), "PUT", "/files/b", bearer, 403, `may not update files.depot.bpa.akraino.org "b"`},
		{"a user name with a command in it", newHandler(newFake()), "PUT", "/files/a", "Bearer tok-eve", 403, "clusterrolebinding eve-rm-rf-bpa-depot-writer --clusterrole=bpa-depot-writer --user='eve; rm -rf /'"},
		{"expired token", newHandler(newFake()), "PUT", "/files/a", "Bearer old", 401, "the token is refused: token expired"},
		{"no token at all", newHandler(newFake()), "PUT", "/files/a", "Bearer a b", 401, "does not have the form of a token"},
		{"endless token", newHandler(newFake()), "PUT", "/files/a", "Bearer " + strings.Repeat("x", longestToken+1), 401, "does not have the form of a token"},
		{"anonymous token for a write", newHandler(newFake()), "PUT", "/files/a", "Bearer anonymous", 401, "log in"},
		{"write while the API server is gone", newHandler(gone), "PUT", "/files/a", bearer, 503, "cannot reach the Kubernetes API server"},
		{"write without an authorizer", New(http.HandlerFunc(store)), "PUT", "/files/a", bearer, 403, "--kubeconfig"},
		{"encoded slash", newHandler(newFake()), "PUT", "/files/x%2fa", bearer, 400, "more than one way"},
		{"unknown path", newHandler(newFake()), "POST", "/secret", bearer, 404, "does not support this method at this path"},
		{"no such method", newHandler(newFake()), "PROPFIND", "/files/a", bearer, 405, "not allowed"},

		{"private read without a token", newHandler(newFake(), private), "GET", "/files/a", "", 401, "needs a token"},
		{"private read", newHandler(newFake(), private), "GET", "/files/a", bearer, 200, "served"},
		{"private read of another file", newHandler(newFake(), private), "GET", "/files/b", bearer, 403, "--clusterrole=bpa-depot-reader"},
		{"private read while the API server is gone", newHandler(gone, private), "GET", "/files/a", bearer, 503, ""},
		{"private health", newHandler(gone, private), "GET", "/readyz", "", 200, "served"},
		{"private key of the packages", newHandler(gone, private), "GET", "/apt-key.asc", "", 200, "served"},
		{"private CA", newHandler(gone, private), "GET", "/ca.crt", "", 200, "served"},
		{"private, disguised as an open path", newHandler(newFake(), private), "GET", "/readyz/../files/a", "", 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ask(tt.handler, tt.method, tt.path, "Authorization", tt.token)
			if got.Code != tt.status || !strings.Contains(got.Body.String(), tt.text) {
				t.Errorf("%d %s; want %d with %q", got.Code, got.Body, tt.status, tt.text)
			}
			if challenge := got.Header().Get("WWW-Authenticate"); (got.Code == 401) != (challenge != "") {
				t.Errorf("%d with challenge %q", got.Code, challenge)
			}
			if (got.Code == 503) != (got.Header().Get("Retry-After") != "") {
				t.Errorf("%d with Retry-After %q", got.Code, got.Header().Get("Retry-After"))
			}
		})
	}
}

// A form could name the repository from which a blob is taken. The access check reads only the URL,
// so it would not check the right to that repository.
func TestRegistryTakesNoForms(t *testing.T) {
	for _, kind := range []string{"application/x-www-form-urlencoded", "Application/X-WWW-Form-urlencoded; charset=utf-8", "multipart/form-data; boundary=b", "multipart/mixed; boundary=b"} {
		got := ask(newHandler(newFake()), "POST", "/v2/app/blobs/uploads/", "Content-Type", kind, "Authorization", "Bearer tok-robot")
		if got.Code != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d %s", kind, got.Code, got.Body)
		}
	}
}

func TestMethodIsNotOverridden(t *testing.T) {
	if got := ask(newHandler(newFake()), "GET", "/files/b", "X-HTTP-Method-Override", "DELETE"); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestRegistryLogin checks the token protocol of the distribution project, which docker and
// containerd use.
func TestRegistryLogin(t *testing.T) {
	gone := newFake()
	gone.gone = true
	for _, tt := range []struct {
		name     string
		handler  http.Handler
		password string
		status   int
		token    string
	}{
		{"anonymous", newHandler(newFake()), "", 200, "anonymous"},
		{"good", newHandler(newFake()), "tok-robot", 200, "tok-robot"},
		{"bad", newHandler(newFake()), "old", 401, ""},
		{"no answer of the API server: reads continue", newHandler(gone), "tok-robot", 200, "tok-robot"},
		{"no authorizer", New(http.HandlerFunc(store)), "", 200, "anonymous"},
		{"private anonymous", newHandler(newFake(), WithAnonymousRead(false)), "", 401, ""},
		{"private, no answer of the API server", newHandler(gone, WithAnonymousRead(false)), "tok-robot", 503, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/token?service=depot&scope=repository:app:pull,push", nil)
			if tt.password != "" {
				r.SetBasicAuth("any", tt.password)
			}
			w := httptest.NewRecorder()
			tt.handler.ServeHTTP(w, r)
			var got struct{ Token string }
			if w.Code == 200 {
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
			}
			if w.Code != 200 && !strings.HasPrefix(w.Body.String(), `{"errors":[{"code":"`) {
				t.Errorf("no registry client shows %s", w.Body)
			}
			if w.Code != tt.status || got.Token != tt.token || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%d, token %q, %v; want %d, %q", w.Code, got.Token, w.Header(), tt.status, tt.token)
			}
		})
	}
	// A client that is not asked for a token at /v2/ never sends one later.
	got := ask(newHandler(newFake()), "GET", "/v2/")
	if want := `Bearer realm="https://depot.example:5443/token",service="depot"`; got.Code != 401 || got.Header().Get("WWW-Authenticate") != want {
		t.Errorf("%d, %q; want 401, %q", got.Code, got.Header().Get("WWW-Authenticate"), want)
	}
	if !strings.Contains(got.Body.String(), `{"errors":[{"code":"UNAUTHORIZED","message":"`) {
		t.Errorf("no registry client shows %s", got.Body)
	}
	for token, want := range map[string]int{"anonymous": 200, "tok-robot": 200, "old": 401} {
		if got := ask(newHandler(newFake()), "GET", "/v2/", "Authorization", "Bearer "+token); got.Code != want {
			t.Errorf("with token %s: %d, want %d", token, got.Code, want)
		}
	}
	if got := ask(newHandler(gone), "GET", "/v2/", "Authorization", "Bearer tok-robot"); got.Code != 200 {
		t.Errorf("while the API server is gone: %d", got.Code)
	}
	if got := ask(newHandler(newFake()), "POST", "/token"); got.Code != 405 {
		t.Errorf("POST /token = %d, want 405, at which clients fall back to GET", got.Code)
	}
}

func TestReadOnly(t *testing.T) {
	h := ReadOnly(http.HandlerFunc(store), "Write at https://depot.example:5443.")
	if got := ask(h, "GET", "/v2/", "Authorization", "Bearer tok-robot", "X-HTTP-Method-Override", "PUT"); got.Code != 200 {
		t.Errorf("read = %d %s", got.Code, got.Body)
	}
	for _, method := range []string{"PUT", "POST", "PATCH", "DELETE", "CONNECT", "PROPFIND", "get"} {
		if got := ask(h, method, "/v2/app/manifests/v1", "Authorization", "Bearer tok-robot"); got.Code != 403 || !strings.Contains(got.Body.String(), "https://depot.example:5443") {
			t.Errorf("%s = %d %s", method, got.Code, got.Body)
		}
	}
}

// A browser may know the token, because it asks for one by Basic authentication. It sends the token also with the
// requests of other pages.
func TestOtherPagesWriteNothing(t *testing.T) {
	h := newHandler(newFake())
	for _, tt := range []struct {
		method string
		header []string
		status int
	}{
		{"PUT", nil, 200},
		{"PUT", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"PUT", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"PUT", []string{"Origin", "https://evil.example"}, 403},
		{"PUT", []string{"Origin", "https://depot.example:5443"}, 200},
		{"GET", []string{"Sec-Fetch-Site", "cross-site"}, 200},
	} {
		got := ask(h, tt.method, "/files/a", append([]string{"Authorization", "Bearer tok-robot"}, tt.header...)...)
		if got.Code != tt.status || got.Code == 403 && !strings.Contains(got.Body.String(), "another page") {
			t.Errorf("%s with %q: %d %s; want %d", tt.method, tt.header, got.Code, got.Body, tt.status)
		}
	}
}

// A path at /v1 that routers could read in more than one way is never served without a token: it could name the
// installation status.
func TestAmbiguousPathsAreNotAnonymous(t *testing.T) {
	for name, h := range map[string]http.Handler{"TLS": newHandler(newFake()), "plain": ReadOnly(http.HandlerFunc(store), "Elsewhere.")} {
		for path, status := range map[string]int{
			"/v1/baremetalcluster/c1/edge/status/a%2Fb":      400,
			"/v1/baremetalcluster/c1/edge/status/a%5Cb":      400,
			"/v1/baremetalcluster/c1/edge%2Fstatus":          400,
			"/v1/baremetalcluster/c1/edge/x/%2e%2e/status":   400,
			"/v1/baremetalcluster/c1/edge/os_images/image-1": 200,
			"/files/apt/debian-12/./Packages":                200, // apt with Suites: ./
			"/healthz":                                       200,
		} {
			if got := ask(h, "GET", path); got.Code != status || status == 400 && !strings.Contains(got.Body.String(), "send a plain path") {
				t.Errorf("%s listener: %s: %d %s; want %d", name, path, got.Code, got.Body, status)
			}
		}
	}
}

func TestLocal(t *testing.T) {
	h := Local(http.HandlerFunc(store))
	for _, tt := range []struct {
		host, peer string
		header     []string
		status     int
	}{
		{"127.0.0.1:5000", "127.0.0.1:40000", nil, 200},
		{"localhost", "127.0.0.1:40000", nil, 200},
		{"[::1]:5000", "[::1]:40000", nil, 200},
		{"rebound.example:5000", "127.0.0.1:40000", nil, 403}, // a foreign host name that resolves to loopback
		{"127.0.0.1:5000", "10.60.0.12:40000", nil, 403},      // another machine, whose packets reach loopback because of route_localnet
		{"127.0.0.1:5000", "127.0.0.1:40000", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"127.0.0.1:5000", "127.0.0.1:40000", []string{"Origin", "https://evil.example"}, 403},
	} {
		r := httptest.NewRequest("PUT", "http://"+tt.host+"/files/a", nil)
		r.RemoteAddr = tt.peer
		for i := 0; i < len(tt.header); i += 2 {
			r.Header.Set(tt.header[i], tt.header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("as %s from %s with %v: %d, want %d", tt.host, tt.peer, tt.header, w.Code, tt.status)
		}
	}
}

func TestLoopback(t *testing.T) {
	const secret = "0123456789abcdef"
	h := Loopback(http.HandlerFunc(store), secret, "cat /store/local-token", slog.New(slog.DiscardHandler))
	basic := func(password string) string {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("any", password)
		return r.Header.Get("Authorization")
	}
	for _, tt := range []struct {
		name, method, url, token string
		status                   int
		text                     string
	}{
		{"read", "GET", "http://127.0.0.1:5000/files/a", "", 200, "served"},
		{"read with a wrong secret", "GET", "http://127.0.0.1:5000/files/a", "Bearer wrong", 200, "served"},
		{"write", "PUT", "http://127.0.0.1:5000/files/a", "", 401, "cat /store/local-token"},
		{"write with an empty secret", "PUT", "http://127.0.0.1:5000/files/a", basic(""), 401, "needs a token"},
		{"write with the anonymous token", "PUT", "http://127.0.0.1:5000/files/a", "Bearer anonymous", 401, "needs a token"},
		{"write with a wrong secret", "PUT", "http://127.0.0.1:5000/files/a", "Bearer 0123456789abcdeF", 401, "not the local token"},
		{"write with the beginning of the secret", "PUT", "http://127.0.0.1:5000/files/a", "Bearer 0123", 401, "not the local token"},
		{"write with Bearer", "PUT", "http://127.0.0.1:5000/files/a", "Bearer " + secret, 200, "served"},
		{"write with Basic", "PUT", "http://localhost:5000/files/a", basic(secret), 200, "served"},
		{"push", "POST", "http://127.0.0.1:5000/v2/app/blobs/uploads/", "Bearer " + secret, 200, "served"},
		{"push of an archive", "PUT", "http://127.0.0.1:5000/v1/baremetalcluster/c1/edge/container_images/x/content", "Bearer " + secret, 200, "served"},
		{"write as another host", "PUT", "http://rebound.example:5000/files/a", "Bearer " + secret, 403, "for this machine only"},
		{"greeting", "GET", "http://127.0.0.1:5000/v2/", "", 401, ""},
		{"login", "GET", "http://127.0.0.1:5000/token?service=depot", basic(secret), 200, secret},
		{"failed login", "GET", "http://127.0.0.1:5000/token?service=depot", basic("wrong"), 401, "not the local token"},
		{"no login", "GET", "http://127.0.0.1:5000/token?service=depot", "", 200, anonymousToken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, tt.url, nil)
			r.RemoteAddr = "127.0.0.1:40000"
			r.Header.Set("Authorization", tt.token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
				t.Errorf("%d %s; want %d with %q", w.Code, w.Body, tt.status, tt.text)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); r.URL.Path == "/v2/" && challenge != `Bearer realm="http://127.0.0.1:5000/token",service="depot"` {
				t.Errorf("challenge %s does not lead clients to the token endpoint", challenge)
			}
		})
	}
	withoutSecret := Loopback(http.HandlerFunc(store), "", "", slog.New(slog.DiscardHandler))
	r := httptest.NewRequest("PUT", "http://127.0.0.1:5000/files/a", nil)
	r.RemoteAddr = "127.0.0.1:40000"
	r.Header.Set("Authorization", "Bearer ")
	w := httptest.NewRecorder()
	if withoutSecret.ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("a listener without a secret: %d", w.Code)
	}
}
