package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Dial opens a connection, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	connectLimit = 10 * time.Second
	// answerLimit is long, because the depot reads the whole file when a client asks for its
	// checksum the first time.
	answerLimit = 10 * time.Minute
)

// ErrElsewhere is the error for a connection to another address than the depot's.
var ErrElsewhere = errors.New("it is not the depot's address")

// transport returns a transport that connects only to the address of base. No proxy, redirect or
// name in an answer can change that. dial and roots may be nil.
func transport(base *url.URL, dial Dial, roots *x509.CertPool) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: connectLimit}).DialContext
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != hostPort(base) {
				return nil, fmt.Errorf("connect to %s: %w", address, ErrElsewhere)
			}
			return dial(ctx, network, address)
		},
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   connectLimit,
		ResponseHeaderTimeout: answerLimit,
		ExpectContinueTimeout: connectLimit, // after this time, the body is sent: a depot may ignore Expect
		MaxIdleConnsPerHost:   64,           // lets parallel requests reuse their connections
		IdleConnTimeout:       time.Minute,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
		DisableCompression:    true,
	}
}

func hostPort(base *url.URL) string {
	if base.Port() != "" {
		return base.Host
	}
	return net.JoinHostPort(base.Hostname(), map[string]string{"http": "80", "https": "443"}[base.Scheme])
}

// authority returns the authorities that may sign the depot's certificate: those in pem. If pem is
// empty, it returns nil, which means the authorities of the system.
func authority(pem []byte) (*x509.CertPool, error) {
	if len(pem) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("the depot's CA is not a PEM certificate")
	}
	return pool, nil
}

// withToken adds the token to each request to the depot, unless others could read the token on the
// network. It reads the token file for each request, because Kubernetes renews the token.
type withToken struct {
	http.RoundTripper
	base      *url.URL
	tokenFile string
}

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	here := net.ParseIP(t.base.Hostname()).IsLoopback() // false for names: they may resolve to any address
	if t.tokenFile == "" || t.base.Scheme != "https" && !here || r.URL.Host != t.base.Host || r.Header.Get("Authorization") != "" {
		return t.RoundTripper.RoundTrip(r)
	}
	token, err := os.ReadFile(t.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the token for the depot: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return t.RoundTripper.RoundTrip(r)
}

// withScheme sets the scheme of the depot's URL in each request, because go-containerregistry
// assumes plain HTTP for private addresses, and tries both schemes for others.
type withScheme struct {
	http.RoundTripper
	base *url.URL
}

func (s withScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.base.Host && r.URL.Scheme != s.base.Scheme {
		r = r.Clone(r.Context())
		r.URL.Scheme = s.base.Scheme
	}
	return s.RoundTripper.RoundTrip(r)
}
