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
	// answerLimit is long: the depot reads a file to its end when it is asked for its checksum the first time.
	answerLimit = 10 * time.Minute
)

// ErrElsewhere is the refusal to connect to another machine than the depot.
var ErrElsewhere = errors.New("not the depot")

// transport connects to the one address of base. No proxy, no redirect and no name in an answer leads elsewhere.
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
		ExpectContinueTimeout: connectLimit, // a depot that does not know the question gets the body then
		MaxIdleConnsPerHost:   64,           // or parallel requests would connect anew each time
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

// authority is who signs the depot's certificate; without one those count that the system knows.
func authority(pem []byte) (*x509.CertPool, error) {
	if len(pem) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("the depot's CA is no PEM certificate")
	}
	return pool, nil
}

// identified sends the token with each request to the depot, unless others could read it on the way. The file is read each time: Kubernetes
// renews it.
type identified struct {
	http.RoundTripper
	base      *url.URL
	tokenFile string
}

func (i identified) RoundTrip(r *http.Request) (*http.Response, error) {
	here := net.ParseIP(i.base.Hostname()).IsLoopback() // of a name nobody knows where it leads
	if i.tokenFile == "" || i.base.Scheme != "https" && !here || r.URL.Host != i.base.Host || r.Header.Get("Authorization") != "" {
		return i.RoundTripper.RoundTrip(r)
	}
	token, err := os.ReadFile(i.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("the token for the depot: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return i.RoundTripper.RoundTrip(r)
}

// schemed keeps to the scheme of the depot's URL: the library takes it that private addresses speak plain HTTP, and tries both on others.
type schemed struct {
	http.RoundTripper
	base *url.URL
}

func (s schemed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.base.Host && r.URL.Scheme != s.base.Scheme {
		r = r.Clone(r.Context())
		r.URL.Scheme = s.base.Scheme
	}
	return s.RoundTripper.RoundTrip(r)
}
