package auth

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// ReadOnly is a door without encryption: anonymous reads only, since a token would be readable on the way. Where says how to write.
func ReadOnly(next http.Handler, where string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isRead(r.Method) {
			refuse(w, r, http.StatusForbidden, "this door is for reading only, since tokens would be readable on the way. "+where)
			return
		}
		r.Header.Del("X-HTTP-Method-Override")
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

// Local is a door for who is on the machine and may open its socket file: every right, no token. What a browser on the machine sends for some
// web page is refused: by its origin, and by a name that was made to lead to loopback.
func Local(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The peer is checked beside the listener's address: with route_localnet a neighbour's packets reach loopback.
		if !throughFile(r) && !(isLocalName(r.Host) && isLocalName(r.RemoteAddr)) {
			refuse(w, r, http.StatusForbidden, "this door is for the machine itself: use it as localhost or 127.0.0.1")
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// Loopback is such a door at an address of the machine, where any of its users can knock: they read, and who knows the secret has every right.
// GetSecret is the command that shows it to who may have it.
func Loopback(next http.Handler, secret Secret, getSecret string, log *slog.Logger) http.Handler {
	g := New(next, WithAuthorizer(secret), WithTokenCommand(getSecret), WithLogger(log))
	g.scheme = "http"
	return Local(g)
}

// Secret is the Authorizer that knows one token, for every right.
type Secret string

// Authenticate takes the same time for each wrong token of the same length.
func (s Secret) Authenticate(_ context.Context, token string) (User, error) {
	if len(s) == 0 || subtle.ConstantTimeCompare([]byte(s), []byte(token)) != 1 {
		return User{}, &Rejected{Why: "it is not this machine's"}
	}
	return User{Name: "machine"}, nil
}

// Authorize allows everything.
func (Secret) Authorize(context.Context, User, Access) (bool, error) { return true, nil }

func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// throughFile: who can open a socket file needs no name for it.
func throughFile(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && address.Network() == "unix"
}

// isUpload: a piece of a push.
func isUpload(path string) bool {
	return strings.HasPrefix(path, pingPath) && strings.Contains(path, "/blobs/uploads")
}
