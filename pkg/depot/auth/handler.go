package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// User is the Kubernetes user of a token.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Authorizer checks tokens and rights.
type Authorizer interface {
	// Authenticate returns the user of a token. The error is a *Rejected if the token is not valid.
	// Any other error means that the token could not be checked.
	Authenticate(ctx context.Context, token string) (User, error)
	// Authorize reports whether the user has the right access. An error means that the right could
	// not be checked.
	Authorize(ctx context.Context, user User, access Access) (bool, error)
}

// Rejected is the error for a token that is not valid. Why is the reason.
type Rejected struct{ Why string }

func (r *Rejected) Error() string { return r.Why }

// Handler requires tokens. Its connections must be encrypted or stay on the machine, because a
// token is a password.
type Handler struct {
	next          http.Handler
	scheme        string // scheme of the URL at which clients request tokens
	authorizer    Authorizer
	anonymousRead bool
	getToken      string
	log           *slog.Logger
	// crossOrigin finds requests that a browser sends for another page: with the token that the browser knows, that
	// page could write.
	crossOrigin *http.CrossOriginProtection
}

// Option changes how a Handler behaves.
type Option func(*Handler)

// WithAuthorizer sets the Authorizer. Without one, no token is valid, so the Handler refuses all
// writes.
func WithAuthorizer(r Authorizer) Option { return func(h *Handler) { h.authorizer = r } }

// WithAnonymousRead sets whether reads are allowed without a token; the default is true.
func WithAnonymousRead(anonymous bool) Option {
	return func(h *Handler) { h.anonymousRead = anonymous }
}

// WithTokenCommand sets the command for getting a token. Answers recommend this command.
func WithTokenCommand(command string) Option { return func(h *Handler) { h.getToken = command } }

// WithLogger sets the logger for writes, refusals and failures of the Authorizer. The default is
// slog.Default().
func WithLogger(log *slog.Logger) Option { return func(h *Handler) { h.log = log } }

// New returns a Handler in front of next.
func New(next http.Handler, opts ...Option) *Handler {
	h := &Handler{next: next, scheme: "https", anonymousRead: true, getToken: "kubectl create token ACCOUNT", log: slog.Default(), crossOrigin: http.NewCrossOriginProtection()}
	for _, opt := range opts {
		opt(h)
	}
	return h
}

// ServeHTTP refuses a request, or forwards it to the next handler without its credentials.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// In the tus protocol, this header replaces the method. It is removed, so that the method that
	// is served is the one that was authorized.
	r.Header.Del("X-HTTP-Method-Override")
	if h.crossOrigin.Check(r) != nil {
		refuse(w, r, http.StatusForbidden, "a browser has sent this request for another page, which may not write to the depot")
		return
	}
	token := tokenOf(r)
	if r.URL.Path == tokenPath {
		h.serveToken(w, r, token)
		return
	}
	r.Header.Del("Authorization")
	switch read := isRead(r.Method); {
	case read && isOpen(r.URL.Path):
	case read && r.URL.Path == pingPath:
		if !h.greet(w, r, token) {
			return
		}
	case read && h.anonymousRead && !isPrivate(r):
	default:
		if r = h.admit(w, r, token); r == nil {
			return
		}
	}
	h.next.ServeHTTP(w, r)
}

// isOpen reports whether a path never needs a token. Programs that probe the depot have no token,
// and users need the CA, the key of the OS packages or the API description before they have one.
func isOpen(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/ca.crt" || path == protocol.PackageKeyPath || path == "/v1/openapi.json"
}

// isPrivate reports whether a path always needs a token, also for reads: the installation status comes
// from Kubernetes, which serves it to authorized accounts only, and counting the content takes long. So does a path at /v1 that could be read in
// more than one way: admit refuses it.
func isPrivate(r *http.Request) bool {
	all, err := needs(r)
	if errors.Is(err, errPath) {
		return strings.HasPrefix(path.Clean(r.URL.Path)+"/", "/v1/")
	}
	return err == nil && slices.ContainsFunc(all, func(a Access) bool { return a.Resource == ArtifactStatus || a.Resource == Storage })
}

// admit returns the request with its caller, see May. If the request is not authorized, admit answers it
// and returns nil.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, token string) *http.Request {
	all, err := needs(r)
	if err != nil {
		refuse(w, r, statusOf(err), err.Error())
		return nil
	}
	user, err := h.user(r, token)
	if err != nil {
		h.fail(w, r, err)
		return nil
	}
	for _, access := range all {
		access, allowed, err := h.authorize(r, user, access)
		if err != nil {
			h.fail(w, r, err)
			return nil
		}
		if !allowed {
			h.log.Info("refused", "user", user.Name, "verb", access.Verb, "resource", access.Resource,
				"namespace", access.Namespace, "name", access.Name, "from", r.RemoteAddr)
			refuse(w, r, http.StatusForbidden, denial(user, access))
			return nil
		}
	}
	h.log.Log(r.Context(), levelOf(r), "admitted", "user", user.Name, "method", r.Method, "path", r.URL.Path, "from", r.RemoteAddr)
	return r.WithContext(withCaller(r.Context(), user, h.authorizer))
}

// levelOf returns the level at which an admitted request is logged: info for a change, so that the
// log shows who changed what; debug for reads and the many pieces of uploads.
func levelOf(r *http.Request) slog.Level {
	if isRead(r.Method) || r.Method == http.MethodPatch || isUpload(r.URL.Path) {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

var (
	errNoToken      = errors.New("no token")
	errNoAuthorizer = errors.New("this depot has no Kubernetes to ask about tokens: start it with --kubeconfig, or write from the depot's own machine through its local listener (--local-listen)")
)

// user returns the token's user.
func (h *Handler) user(r *http.Request, token string) (User, error) {
	switch {
	case h.authorizer == nil:
		return User{}, errNoAuthorizer
	case token == "" || token == anonymousToken:
		return User{}, errNoToken
	case !plausible(token):
		return User{}, &Rejected{Why: "it does not have the form of a token"}
	}
	return h.authorizer.Authenticate(r.Context(), token)
}

// fail answers a request whose user or rights could not be determined.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var rejected *Rejected
	switch {
	case errors.Is(err, errNoAuthorizer):
		refuse(w, r, http.StatusForbidden, err.Error())
	case errors.Is(err, errNoToken):
		h.challenge(w, r, "this request needs a token")
	case errors.As(err, &rejected):
		h.challenge(w, r, "the token is refused: "+shorten(rejected.Why))
	default:
		h.log.Error("tokens or rights cannot be checked: writes are refused until the API server answers", "error", err)
		w.Header().Set("Retry-After", "5")
		refuse(w, r, http.StatusServiceUnavailable, "the depot cannot reach the Kubernetes API server that checks tokens, or has no right to ask it: nothing can be written now; try again later, or see the depot's log")
	}
}
