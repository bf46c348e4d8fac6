package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

const (
	tokenPath = "/token"
	pingPath  = "/v2/"
	// anonymousToken is the token of registry clients without credentials: Docker does not read
	// without a token.
	anonymousToken = "anonymous"
	// tokenSeconds is how long a client uses a token before it requests one again, which costs one
	// review of the token.
	tokenSeconds = 300
	// longestToken is the longest accepted token in bytes, far above those of Kubernetes.
	longestToken = 16 << 10
)

// tokenOf returns the token of a request: the Bearer token, or the password of Basic
// authentication, which registry clients use to log in with any user name. It is empty if the
// request has no token.
func tokenOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// plausible reports whether a string can be a token. Other strings are not sent to the API server.
func plausible(token string) bool {
	return len(token) <= longestToken && strings.IndexFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
}

// challenge answers 401 and requests a token: from registry clients by the token protocol of the
// distribution project, from other clients by Basic authentication.
func (h *Handler) challenge(w http.ResponseWriter, r *http.Request, why string) {
	how := `Basic realm="depot", charset="UTF-8"`
	if strings.HasPrefix(r.URL.Path, pingPath) {
		how = fmt.Sprintf(`Bearer realm="%s://%s%s",service="depot"`, h.scheme, r.Host, tokenPath)
	}
	w.Header().Set("WWW-Authenticate", how)
	refuse(w, r, http.StatusUnauthorized, why+"; log in with any user name and the token as the password. To get one: "+h.getToken)
}

// greet handles a registry client's first request, to /v2/. It reports whether the request may
// continue; if not, greet has answered it. Clients that will only read must send a token too: a
// client that is not asked for a token here never sends one, not even for a later write. No right
// is needed yet.
func (h *Handler) greet(w http.ResponseWriter, r *http.Request, token string) bool {
	if h.anonymousRead && (h.authorizer == nil || token == anonymousToken) {
		return true
	}
	_, err := h.user(r, token)
	if err == nil || h.anonymousRead && !isAboutToken(err) {
		return true // reads continue while tokens cannot be checked
	}
	h.fail(w, r, err)
	return false
}

func isAboutToken(err error) bool {
	var rejected *Rejected
	return errors.Is(err, errNoToken) || errors.As(err, &rejected)
}

// serveToken serves the token endpoint. It returns the client's own token, so that the depot keeps
// no state. It refuses a token that is not valid, so that the login fails. It does not check the
// token's rights: they are checked at each later request.
func (h *Handler) serveToken(w http.ResponseWriter, r *http.Request, token string) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, r, http.StatusMethodNotAllowed, "request a token by GET") // clients that try OAuth first then send a GET
		return
	}
	_, err := h.user(r, token)
	switch {
	case err == nil:
	case !h.anonymousRead, token != "" && isAboutToken(err):
		h.fail(w, r, err)
		return
	case token == "":
		token = anonymousToken
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "access_token": token, "expires_in": tokenSeconds})
}
