package auth

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// ReadOnly serves an unencrypted listener: it allows anonymous reads only, because others could
// read a token on the network. where is a sentence for the refusal that says how to write.
func ReadOnly(next http.Handler, where string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isRead(r.Method) {
			refuse(w, r, http.StatusForbidden, "this listener is for reading only, because others could read a token on an unencrypted connection. "+where)
			return
		}
		r.Header.Del("X-HTTP-Method-Override")
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

// Local serves a listener for users of the machine, such as a socket file: every right, without a
// token. It refuses requests that a browser on the machine sends for a web page: by their origin,
// and by a foreign name that resolves to loopback.
func Local(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The peer's address is also checked: with route_localnet, packets of a neighbour can reach
		// loopback.
		if !throughFile(r) && !(isLocalName(r.Host) && isLocalName(r.RemoteAddr)) {
			refuse(w, r, http.StatusForbidden, "this listener is for this machine only: connect to localhost or 127.0.0.1")
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// Loopback serves a loopback address, to which all users of the machine can connect. They may read;
// requests with the secret as their token have every right. getSecret is the command that shows the
// secret to users who may read it.
func Loopback(next http.Handler, secret Secret, getSecret string, log *slog.Logger) http.Handler {
	h := New(next, WithAuthorizer(secret), WithTokenCommand(getSecret), WithLogger(log))
	h.scheme = "http"
	return Local(h)
}

// Secret is an Authorizer with one valid token, the string, that has every right. If it is empty,
// no token is valid.
type Secret string

// Authenticate needs the same time for all wrong tokens of the same length.
func (s Secret) Authenticate(_ context.Context, token string) (User, error) {
	if len(s) == 0 || subtle.ConstantTimeCompare([]byte(s), []byte(token)) != 1 {
		return User{}, &Rejected{Why: "it is not this machine's secret"}
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

// throughFile reports whether the request came through a socket file, where host names and
// addresses have no meaning.
func throughFile(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && address.Network() == "unix"
}

// isUpload reports whether a path belongs to an upload of a blob.
func isUpload(path string) bool {
	return strings.HasPrefix(path, pingPath) && strings.Contains(path, "/blobs/uploads")
}
