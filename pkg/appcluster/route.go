package appcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/akraino-icn/bpa/pkg/ssh"
)

// route connects to the API server through the SSH connection to a control plane, so that no path from the
// pod network to the API server is needed, and names are those that the control plane knows. If the SSH server
// forbids this, route connects directly.
type route struct {
	through ssh.Dialer
	limit   time.Duration

	mu     sync.Mutex
	direct bool
}

func (r *route) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !r.isDirect() {
		conn, err := r.through.DialContext(ctx, network, address)
		switch {
		case err == nil:
			return conn, nil
		case !forbidden(err):
			return nil, fmt.Errorf("connect to the API server at %s through the control plane: %w", address, err)
		}
		r.mu.Lock()
		r.direct = true
		r.mu.Unlock()
	}
	dialer := net.Dialer{Timeout: min(r.limit, 5*time.Second)}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server at %s, because the SSH server of the control plane forwards no connections: %w", address, err)
	}
	return conn, nil
}

// forbidden reports whether the SSH server opens no connections for its clients (AllowTcpForwarding no).
func forbidden(err error) bool {
	var open *xssh.OpenChannelError
	return errors.As(err, &open) && open.Reason == xssh.Prohibited
}

func (r *route) isDirect() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.direct
}

// maxAnswer bounds one answer of the API server in bytes. It is large enough for the pods of about 2,000 nodes.
// A user who is root on a control plane can answer instead of its API server.
const maxAnswer = 64 << 20

// boundAnswers bounds the answers of an API server. client-go bounds those of a watch itself, each object for itself.
func boundAnswers(to http.RoundTripper) http.RoundTripper { return bounded{to} }

type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") == "" {
		answer.Body = &limited{ReadCloser: answer.Body, left: maxAnswer}
	}
	return answer, err
}

// limited is a body that returns an error instead of its end if it is too long.
type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, fmt.Errorf("the answer of the API server has more than %d bytes", maxAnswer)
	}
	return n, err
}
