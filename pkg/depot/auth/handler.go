package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
)

// User is whom a token stands for, as Kubernetes knows them.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Authorizer judges tokens and rights.
type Authorizer interface {
	// Authenticate gives the user of a token. A *Rejected error: the token is good for nobody. Any other: nobody could judge it.
	Authenticate(ctx context.Context, token string) (User, error)
	// Authorize tells whether the user has the right. An error: nobody could judge it.
	Authorize(ctx context.Context, user User, access Access) (bool, error)
}

// Rejected says why a token is good for nobody.
type Rejected struct{ Why string }

func (r *Rejected) Error() string { return r.Why }

// Handler is a door that asks for tokens. Its connections must be encrypted, or not leave the machine: tokens are passwords.
type Handler struct {
	next          http.Handler
	scheme        string // of the URL at which clients ask for tokens
	authorizer    Authorizer
	anonymousRead bool
	getToken      string
	log           *slog.Logger
}

// Option changes how a Handler behaves.
type Option func(*Handler)

// WithAuthorizer says who judges tokens; without one no token is good, and nobody writes at this door.
func WithAuthorizer(r Authorizer) Option { return func(g *Handler) { g.authorizer = r } }

// WithAnonymousRead says whether reads need no token; they need none by default.
func WithAnonymousRead(anonymous bool) Option {
	return func(g *Handler) { g.anonymousRead = anonymous }
}

// WithTokenCommand is what a person is told to type for a token.
func WithTokenCommand(command string) Option { return func(g *Handler) { g.getToken = command } }

// WithLogger says where writes, refusals and failures of the judge are told.
func WithLogger(log *slog.Logger) Option { return func(g *Handler) { g.log = log } }

// New puts a guard before next.
func New(next http.Handler, opts ...Option) *Handler {
	g := &Handler{next: next, scheme: "https", anonymousRead: true, getToken: "kubectl create token ACCOUNT", log: slog.Default()}
	for _, opt := range opts {
		opt(g)
	}
	return g
}

// ServeHTTP answers one request, or passes it on without its credentials.
func (g *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// tus takes this header for the method; the method that was judged must be the one that is served.
	r.Header.Del("X-HTTP-Method-Override")
	token := tokenOf(r)
	if r.URL.Path == tokenPath {
		g.serveToken(w, r, token)
		return
	}
	r.Header.Del("Authorization")
	switch read := isRead(r.Method); {
	case read && isOpen(r.URL.Path):
	case read && r.URL.Path == pingPath:
		if !g.greet(w, r, token) {
			return
		}
	case read && g.anonymousRead:
	default:
		if !g.admit(w, r, token) {
			return
		}
	}
	g.next.ServeHTTP(w, r)
}

// isOpen: supervisors and those who are about to trust the depot have no token yet.
func isOpen(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/ca.crt" || path == "/v1/openapi.json"
}

// admit tells whether the request may go on; it has been answered if not.
func (g *Handler) admit(w http.ResponseWriter, r *http.Request, token string) bool {
	all, err := needs(r)
	if err != nil {
		refuse(w, r, statusOf(err), err.Error())
		return false
	}
	user, err := g.user(r, token)
	if err != nil {
		g.fail(w, r, err)
		return false
	}
	for _, access := range all {
		access, allowed, err := g.authorize(r, user, access)
		if err != nil {
			g.fail(w, r, err)
			return false
		}
		if !allowed {
			g.log.Info("refused", "user", user.Name, "verb", access.Verb, "resource", access.Resource,
				"namespace", access.Namespace, "name", access.Name, "from", r.RemoteAddr)
			refuse(w, r, http.StatusForbidden, denial(user, access))
			return false
		}
	}
	g.log.Log(r.Context(), levelOf(r), "admitted", "user", user.Name, "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	return true
}

// levelOf: a record of who changed what; the many pieces of a push and reads would hide it.
func levelOf(r *http.Request) slog.Level {
	if isRead(r.Method) || r.Method == http.MethodPatch || isUpload(r.URL.Path) {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

var (
	errNoToken    = errors.New("no token")
	errNoReviewer = errors.New("this depot has no Kubernetes to ask about tokens: start it with --kubeconfig, or write on its own machine at --local-listen")
)

// user gives the token's user.
func (g *Handler) user(r *http.Request, token string) (User, error) {
	switch {
	case g.authorizer == nil:
		return User{}, errNoReviewer
	case token == "" || token == anonymousToken:
		return User{}, errNoToken
	case !plausible(token):
		return User{}, &Rejected{Why: "nothing of that form is a token"}
	}
	return g.authorizer.Authenticate(r.Context(), token)
}

// fail answers a request whose user or rights are not known.
func (g *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var rejected *Rejected
	switch {
	case errors.Is(err, errNoReviewer):
		refuse(w, r, http.StatusForbidden, err.Error())
	case errors.Is(err, errNoToken):
		g.challenge(w, r, "this needs a token")
	case errors.As(err, &rejected):
		g.challenge(w, r, "the token is refused: "+shorten(rejected.Why))
	default:
		g.log.Error("nobody can judge a token: writes are refused until the API server answers", "error", err)
		w.Header().Set("Retry-After", "5")
		refuse(w, r, http.StatusServiceUnavailable, "the depot cannot reach the Kubernetes API server that judges tokens, or may not ask it: nothing can be written now; see the depot's log, or try again")
	}
}
