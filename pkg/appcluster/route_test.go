package appcluster

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// forwards is an SSH connection whose server answers a request for a connection with this error; nil: it opens it.
type forwards struct {
	err   error
	asked []string
}

func (f *forwards) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	f.asked = append(f.asked, address)
	if f.err != nil {
		return nil, f.err
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// The API server is reached through the control plane. Only if its SSH server forbids this, it is reached directly, from then on:
// nothing else may be asked at the address of a control plane that does not answer.
func TestRoute(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	for name, tc := range map[string]struct {
		err   error
		works bool
		asked int // of two connections
	}{
		"it forwards":             {nil, true, 2},
		"forwarding is forbidden": {&ssh.OpenChannelError{Reason: ssh.Prohibited, Message: "open failed"}, true, 1},
		"the API server is down":  {&ssh.OpenChannelError{Reason: ssh.ConnectionFailed, Message: "Connection refused"}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			through := &forwards{err: tc.err}
			r := &route{through: through, limit: time.Second}
			for range 2 {
				conn, err := r.dial(t.Context(), "tcp", address)
				if (err == nil) != tc.works {
					t.Errorf("error %v", err)
				}
				if err == nil {
					conn.Close()
				}
			}
			if len(through.asked) != tc.asked {
				t.Errorf("the SSH server was asked for %v, want %d times", through.asked, tc.asked)
			}
		})
	}
}

// A program that answers instead of the API server cannot fill the memory. A watch has no end, so only its objects are bounded, by client-go.
func TestAnswersAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		part := []byte(strings.Repeat("x", 1<<20))
		for range maxAnswer>>20 + 1 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	for query, whole := range map[string]bool{"": false, "?watch=true": true} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := boundAnswers(http.DefaultTransport).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if (err == nil) != whole || n < maxAnswer-(1<<20) {
			t.Errorf("%q: %d bytes, %v", query, n, err)
		}
	}
}
