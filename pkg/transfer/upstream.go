package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Upstream is the source that reads from the Internet. It reads each image from its own registry,
// and each file from its own server.
type Upstream struct {
	puller *remote.Puller
	client *http.Client
	named  []name.Option
}

// NewUpstream returns a source that uses the given transport. If the transport is nil, one with the
// proxies of the environment is used. The source logs in to registries with the credentials in
// docker's configuration (DOCKER_CONFIG).
func NewUpstream(transport http.RoundTripper, named ...name.Option) (*Upstream, error) {
	if transport == nil {
		transport = usual()
	}
	puller, err := remote.NewPuller(remote.WithTransport(transport), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithJobs(2*defaultJobs))
	if err != nil {
		return nil, err
	}
	return &Upstream{puller: puller, client: &http.Client{Transport: transport}, named: named}, nil
}

func usual() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 20 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       time.Minute,
		DisableCompression:    true,
	}
}

// Root implements Source.
func (u *Upstream) Root(ctx context.Context, image artifacts.Image) (v1.Descriptor, error) {
	ref, err := name.ParseReference(image.Ref, u.named...)
	if err != nil {
		return v1.Descriptor{}, err
	}
	if want := image.Wanted(); want != "" {
		ref = ref.Context().Digest(want) // the tag may refer to another image by now
	}
	d, err := u.puller.Head(ctx, ref)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("request to %s: %w", ref.Context().RegistryStr(), err)
	}
	return *d, nil
}

// Manifest implements Source.
func (u *Upstream) Manifest(ctx context.Context, image artifacts.Image, d v1.Descriptor) ([]byte, error) {
	ref, err := u.digest(image, d)
	if err != nil {
		return nil, err
	}
	got, err := u.puller.Get(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", ref, err)
	}
	return got.Manifest, nil
}

// Blob implements Source.
func (u *Upstream) Blob(ctx context.Context, image artifacts.Image, d v1.Descriptor) (io.ReadCloser, error) {
	ref, err := u.digest(image, d)
	if err != nil {
		return nil, err
	}
	l, err := u.puller.Layer(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("get blob %s: %w", ref, err)
	}
	body, err := l.Compressed()
	if err != nil {
		return nil, fmt.Errorf("get blob %s: %w", ref, err)
	}
	return watched(body, stallLimit), nil
}

func (u *Upstream) digest(image artifacts.Image, d v1.Descriptor) (name.Digest, error) {
	ref, err := name.ParseReference(image.Ref, u.named...)
	if err != nil {
		return name.Digest{}, err
	}
	return ref.Context().Digest(d.Digest.String()), nil
}

// isUploaded reports whether folder is a folder for uploads of users. It is called with the first
// folder of a path, which is the name of a server unless isUploaded returns true.
func isUploaded(folder string) bool {
	return folder == protocol.AptFolder || slices.Contains(protocol.Kinds, protocol.Kind(folder))
}

// File implements Source.
func (u *Upstream) File(ctx context.Context, file artifacts.File) (io.ReadCloser, int64, error) {
	if folder, _, _ := strings.Cut(file.Path, "/"); file.URL == "" && isUploaded(folder) {
		return nil, 0, errors.New("no server has it: upload the file to the depot, or import a bundle that was created from a depot that has it")
	}
	return get(ctx, u.client, file.Upstream())
}
