package target

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/stream"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of a file in a registry: the file itself, and its configuration, which says nothing.
const (
	fileType   types.MediaType = "application/vnd.akraino.bpa.machine-backup.v1+age"
	configType types.MediaType = "application/vnd.akraino.bpa.machine-backup.config.v1+json"
	titleKey                   = "org.opencontainers.image.title"
)

// repository is a repository of an OCI registry. A file is an artifact with one layer, and its name is the tag.
type repository struct {
	at        name.Repository
	access    Access
	auth      authn.Authenticator
	transport http.RoundTripper
}

func parseRepository(u *url.URL) (name.Repository, error) {
	at, err := name.NewRepository(u.Host + u.Path)
	if err != nil || u.Host == "" || at.RegistryStr() != u.Host || u.RawQuery != "" || u.Fragment != "" {
		return at, fmt.Errorf("the address for backups is %q: use oci://REGISTRY/REPOSITORY, where REGISTRY has a dot or a port", u)
	}
	return at, nil
}

func newRegistry(u *url.URL, access Access) (*repository, error) {
	at, err := parseRepository(u)
	if err != nil {
		return nil, err
	}
	r := &repository{at: at, access: access, auth: authn.Anonymous}
	if access.Credentials != "" {
		if r.auth, err = login(access.Credentials, at.RegistryStr()); err != nil {
			return nil, err
		}
	}
	base, err := access.transport()
	r.transport = encrypted{base}
	return r, err
}

// login reads the login for a registry from a config.json of Docker.
func login(path, registry string) (authn.Authenticator, error) {
	text, err := secret(path)
	if err != nil {
		return nil, err
	}
	var config struct {
		Auths map[string]authn.AuthConfig
	}
	err = json.Unmarshal(text, &config)
	found, ok := config.Auths[registry]
	if err != nil || !ok || found == (authn.AuthConfig{}) { // err may quote the file
		return nil, fmt.Errorf(`%s has no login for %s: write one in the format of Docker, {"auths": {%q: {"auth": "BASE64 OF USER:PASSWORD"}}}`, path, registry, registry)
	}
	return authn.FromConfig(found), nil
}

// encrypted refuses plain HTTP, to which the client would fall back for some addresses: it would send the login to whoever
// answers. Only this machine itself may be asked so.
type encrypted struct{ http.RoundTripper }

var errPlain = errors.New("it has no TLS, without which no login is sent")

func (e encrypted) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" {
		if host := req.URL.Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
			return nil, errPlain
		}
	}
	return e.RoundTripper.RoundTrip(req)
}

func (r *repository) options(ctx context.Context) []remote.Option {
	// A request with a stream cannot be repeated, and the schedule tries again.
	return []remote.Option{remote.WithContext(ctx), remote.WithAuth(r.auth), remote.WithTransport(r.transport), remote.WithRetryBackoff(remote.Backoff{Steps: 1})}
}

// Check implements Target. It begins an upload and cancels it.
func (r *repository) Check(context.Context) error {
	return r.explain("write to", remote.CheckPushPermission(r.at.Tag("check"), keychain{r.auth}, r.transport))
}

type keychain struct{ authn.Authenticator }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) { return k.Authenticator, nil }

// Write implements Target. The manifest, without which nothing is listed, comes last.
func (r *repository) Write(ctx context.Context, name string, fill func(io.Writer) error) error {
	return pipe(fill, func(from io.Reader) error {
		content := &layer{from: from, sum: sha256.New()}
		if err := remote.WriteLayer(r.at, content, r.options(ctx)...); err != nil {
			return r.explain("write to", err)
		}
		image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), configType)
		image, err := mutate.Append(image, mutate.Addendum{Layer: content, Annotations: map[string]string{titleKey: name}})
		if err != nil {
			return err
		}
		return r.explain("write to", remote.Write(r.at.Tag(name), image, r.options(ctx)...))
	})
}

// List implements Target.
func (r *repository) List(ctx context.Context) ([]string, error) {
	names, err := remote.List(r.at, r.options(ctx)...)
	if status := new(transport.Error); errors.As(err, &status) && status.StatusCode == http.StatusNotFound { // nothing was ever stored
		return nil, nil
	}
	return names, r.explain("list", err)
}

// Open implements Target.
func (r *repository) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	image, err := remote.Image(r.at.Tag(name), r.options(ctx)...)
	if err != nil {
		return nil, r.explain("read from", err)
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, r.explain("read from", err)
	}
	if len(layers) != 1 {
		return nil, fmt.Errorf("%s is not a backup: it has %d layers", r.Address(name), len(layers))
	}
	content, err := layers[0].Compressed() // as it is stored
	if err != nil {
		return nil, r.explain("read from", err)
	}
	return file{content, r.Address(name)}, nil
}

// Remove implements Target. Registries remove artifacts by digest, and not by tag; each backup has a digest of its own.
func (r *repository) Remove(ctx context.Context, name string) error {
	found, err := remote.Head(r.at.Tag(name), r.options(ctx)...)
	if err == nil {
		err = remote.Delete(r.at.Digest(found.Digest.String()), r.options(ctx)...)
	}
	return r.explain("remove from", err)
}

// Clean implements Target. A registry removes uploads that were not completed by itself, and lists none.
func (r *repository) Clean(context.Context, string) error { return nil }

// Address implements Target.
func (r *repository) Address(name string) string { return "oci://" + r.at.Tag(name).String() }

// explain says what to do about an error of a registry.
func (r *repository) explain(action string, err error) error {
	if err == nil {
		return nil
	}
	where := action + " the repository " + r.at.Name()
	if cause := explain(err, r.at.RegistryStr()); cause != nil {
		return fmt.Errorf("%s: %w", where, cause)
	}
	status := new(transport.Error)
	if !errors.As(err, &status) {
		return fmt.Errorf("%s: %w", where, err)
	}
	do := ""
	switch status.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		do = "grant the rights to pull, push and delete there to the owner of the login in " + r.access.Credentials
		if status.StatusCode == http.StatusUnauthorized {
			do = "the registry does not accept the login in " + r.access.Credentials + ": replace it, if it is wrong or has expired, or " + do
		}
		if r.access.Credentials == "" {
			do = "the registry needs a login: write it to a file that only root can read, in the format of Docker's config.json, and name it with --credentials"
		}
	case http.StatusNotFound:
		do = "there is no such project, repository or file: create the project, or correct the name; `machine backup list` prints the files"
	case http.StatusMethodNotAllowed:
		do = "the registry permits no removal: permit it in the settings of the registry"
	case http.StatusRequestEntityTooLarge, http.StatusInsufficientStorage:
		do = "raise the quota of the project, or keep fewer backups (`machine backup configure --keep`)"
	default:
		do = "see what the registry says"
	}
	return fmt.Errorf("%s: %s: %s", where, summary(status), do)
}

// summary is the answer of a registry in one line, without the address of the request, which can have a token in it.
func summary(e *transport.Error) string {
	text := []string{http.StatusText(e.StatusCode)}
	for _, d := range e.Errors {
		text = append(text, fmt.Sprintf("%s %s", d.Code, d.Message))
	}
	return fmt.Sprintf("%d %s", e.StatusCode, strings.Join(text, ", "))
}

// layer is a layer that is read once while it is sent, and knows its digest afterwards.
type layer struct {
	from io.Reader
	sum  hash.Hash
	size int64
	read bool
}

// Read implements io.Reader.
func (l *layer) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.sum.Write(p[:n])
	l.size += int64(n)
	l.read = l.read || errors.Is(err, io.EOF)
	return n, err
}

// Compressed implements v1.Layer.
func (l *layer) Compressed() (io.ReadCloser, error) { return io.NopCloser(l), nil }

// Uncompressed implements v1.Layer.
func (l *layer) Uncompressed() (io.ReadCloser, error) { return l.Compressed() }

// Digest implements v1.Layer.
func (l *layer) Digest() (v1.Hash, error) {
	if !l.read {
		return v1.Hash{}, stream.ErrNotComputed
	}
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(l.sum.Sum(nil))}, nil
}

// DiffID implements v1.Layer.
func (l *layer) DiffID() (v1.Hash, error) { return l.Digest() }

// Size implements v1.Layer.
func (l *layer) Size() (int64, error) { return l.size, nil }

// MediaType implements v1.Layer.
func (l *layer) MediaType() (types.MediaType, error) { return fileType, nil }
