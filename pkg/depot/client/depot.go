package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	registry "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Depot is a client of one depot. It is safe for concurrent use.
type Depot struct {
	base     *url.URL
	registry name.Registry
	client   *http.Client
	options  []remote.Option
	pusher   *remote.Pusher
	puller   *remote.Puller
}

// Options configure the connection to a depot. The zero value is enough for reads, and for writes
// to a depot that requires no token.
type Options struct {
	// TokenFile is a file with the Kubernetes token for writes, or with the secret of the machine's
	// loopback listener. The client sends it only over TLS or to a loopback address.
	TokenFile string
	// CA is the PEM certificate of the authority that signs the depot's certificate; empty: the
	// authorities of the system.
	CA []byte
	// Dial opens connections; nil: net.Dialer. The client calls it for the depot's address only.
	Dial Dial
}

// Connect returns a client of the depot at a URL such as http://10.60.0.1:5000. It sends one
// request to /v2/, and fails if the depot does not answer.
func Connect(ctx context.Context, rawURL string, o Options) (*Depot, error) {
	base, err := url.Parse(strings.TrimRight(rawURL, "/"))
	if err != nil || base.Host == "" || base.Path != "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("depot URL %q is not like http://10.60.0.1:5000", rawURL)
	}
	roots, err := authority(o.CA)
	if err != nil {
		return nil, err
	}
	d := &Depot{base: base}
	if d.registry, err = name.NewRegistry(base.Host); err != nil {
		return nil, fmt.Errorf("depot URL %q: %w", rawURL, err)
	}
	wire := withToken{withScheme{transport(base, o.Dial, roots), base}, base, o.TokenFile}
	d.client = &http.Client{Transport: wire}
	// This sends the request to /v2/ once. Without it, go-containerregistry would send one for each
	// repository.
	asked, err := registry.NewWithContext(ctx, d.registry, authn.Anonymous, registry.NewRetry(wire), nil)
	if err != nil {
		return nil, fmt.Errorf("the depot %s does not answer: %w; check that it runs, and that this is its address", base, err)
	}
	d.options = []remote.Option{remote.WithTransport(asked)}
	if d.pusher, err = remote.NewPusher(d.options...); err != nil {
		return nil, err
	}
	d.puller, err = remote.NewPuller(d.options...)
	return d, err
}

// URL returns the depot's URL, without a slash at its end.
func (d *Depot) URL() string { return d.base.String() }

// Close closes idle connections.
func (d *Depot) Close() { d.client.CloseIdleConnections() }
