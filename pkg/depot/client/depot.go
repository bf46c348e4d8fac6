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

// Depot is a client of one depot. It may be used by many goroutines.
type Depot struct {
	base     *url.URL
	registry name.Registry
	client   *http.Client
	options  []remote.Option
	pusher   *remote.Pusher
	puller   *remote.Puller
}

// Options say how the depot is reached. The zero value is for one that anybody may write to, or that is only read.
type Options struct {
	// TokenFile has the Kubernetes token that writing takes, or the secret of the machine's own door. It is sent over TLS or to loopback only.
	TokenFile string
	// CA is the certificate, PEM, of who signs the depot's, if it is none that the system knows.
	CA []byte
	// Dial is how connections are made; nil: as usual. Whatever it is, only the depot's own address is dialled.
	Dial Dial
}

// Connect gets in touch with the depot at a URL such as http://10.60.0.1:5000.
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
	wire := identified{schemed{transport(base, o.Dial, roots), base}, base, o.TokenFile}
	d.client = &http.Client{Transport: wire}
	// Asked once here, the library does not ask again for each repository.
	asked, err := registry.NewWithContext(ctx, d.registry, authn.Anonymous, registry.NewRetry(wire), nil)
	if err != nil {
		return nil, fmt.Errorf("the depot %s does not answer: %w; is it up, and is that its address?", base, err)
	}
	d.options = []remote.Option{remote.WithTransport(asked)}
	if d.pusher, err = remote.NewPusher(d.options...); err != nil {
		return nil, err
	}
	d.puller, err = remote.NewPuller(d.options...)
	return d, err
}

// URL is the depot's, without a slash at its end.
func (d *Depot) URL() string { return d.base.String() }

// Close ends idle connections.
func (d *Depot) Close() { d.client.CloseIdleConnections() }
