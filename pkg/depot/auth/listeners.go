package auth

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// ReadOnly serves an unencrypted listener. It allows only anonymous reads: a write needs a token,
// which others could read on the network. where is a sentence at the end of refusals that says how
// to write.
func ReadOnly(next http.Handler, where string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isRead(r.Method) {
			refuse(w, r, http.StatusForbidden, "this listener is for reading only: writing needs a token, which others could see on an unencrypted connection. "+where)
			return
		}
		if isPrivate(r) {
			all, err := needs(r)
			if err != nil {
				refuse(w, r, statusOf(err), err.Error())
				return
			}
			if all[0].Resource == Storage {
				refuse(w, r, http.StatusForbidden, "what the depot holds is shown with a token only, which others could see on an unencrypted connection: ask at the TLS listener, or on the machine itself at its local listener")
				return
			}
			refuse(w, r, http.StatusForbidden, "the installation status needs a token, which others could see on an unencrypted connection: ask at the TLS listener, or on the machine itself at its local listener")
			return
		}
		r.Header.Del("X-HTTP-Method-Override")
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

// Local serves a listener for users of the machine, such as a socket file. Local itself asks for no
// token and checks no rights. A web page must not be able to use this listener through a browser on
// the machine. So Local refuses requests that a browser sends for another origin. It also refuses
// requests with a foreign host name, because such a name may resolve to loopback.
func Local(next http.Handler) http.Handler {
	return local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(withCaller(r.Context(), User{Name: "machine"}, Secret(""))))
	}))
}

func local(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The peer's address is also checked: if the kernel setting route_localnet is on, packets
		// from another machine can reach loopback.
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
	return local(h)
}

// Secret is an Authorizer with one valid token, which is the value of the Secret. This token has
// every right. If the Secret is empty, no token is valid.
type Secret string

// Authenticate takes the same time for all wrong tokens of the same length.
func (s Secret) Authenticate(_ context.Context, token string) (User, error) {
	if len(s) == 0 || subtle.ConstantTimeCompare([]byte(s), []byte(token)) != 1 {
		return User{}, &Rejected{Why: "it is not the local token of this machine"}
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
