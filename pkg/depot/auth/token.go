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
	// anonymousToken is what a registry client without credentials gets: Docker reads nothing without some token.
	anonymousToken = "anonymous"
	// tokenSeconds is when a client asks again, which costs one review.
	tokenSeconds = 300
	// longestToken is far above what Kubernetes signs.
	longestToken = 16 << 10
)

// tokenOf gives the token of a request: Bearer, or Basic with any user and the token as the password, as registry clients log in.
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

// plausible keeps what cannot be a token from the API server.
func plausible(token string) bool {
	return len(token) <= longestToken && strings.IndexFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
}

// challenge asks for a token in the way that the client understands: registry clients by the token protocol of the distribution project,
// others by Basic.
func (g *Handler) challenge(w http.ResponseWriter, r *http.Request, why string) {
	how := `Basic realm="depot", charset="UTF-8"`
	if strings.HasPrefix(r.URL.Path, pingPath) {
		how = fmt.Sprintf(`Bearer realm="%s://%s%s",service="depot"`, g.scheme, r.Host, tokenPath)
	}
	w.Header().Set("WWW-Authenticate", how)
	refuse(w, r, http.StatusUnauthorized, why+"; log in with any user name and the token as the password. To get one: "+g.getToken)
}

// greet answers a registry client's first question. It must ask even who only wants to read for a token: a client that is not asked here
// will not show its token later, when it writes. No right is needed yet.
func (g *Handler) greet(w http.ResponseWriter, r *http.Request, token string) bool {
	if g.anonymousRead && (g.authorizer == nil || token == anonymousToken) {
		return true
	}
	_, err := g.user(r, token)
	if err == nil || g.anonymousRead && !isAboutToken(err) {
		return true // if nobody can judge: reads go on
	}
	g.fail(w, r, err)
	return false
}

func isAboutToken(err error) bool {
	var rejected *Rejected
	return errors.Is(err, errNoToken) || errors.As(err, &rejected)
}

// serveToken gives a registry client its token back, so that no state is kept here. It tells at once if the token is refused, which is
// what makes a login fail; what the token may do is judged at each request.
func (g *Handler) serveToken(w http.ResponseWriter, r *http.Request, token string) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, r, http.StatusMethodNotAllowed, "ask for a token by GET") // clients that try OAuth first go on with that
		return
	}
	_, err := g.user(r, token)
	switch {
	case err == nil:
	case !g.anonymousRead, token != "" && isAboutToken(err):
		g.fail(w, r, err)
		return
	case token == "":
		token = anonymousToken
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "access_token": token, "expires_in": tokenSeconds})
}
