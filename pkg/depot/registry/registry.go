package registry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/distribution/distribution/v3"
	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	registrymiddleware "github.com/distribution/distribution/v3/registry/middleware/registry"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// secretFile holds the key that signs upload sessions. The key survives restarts, so that clients
// can continue their uploads.
const secretFile = "upload-secret"

// Registry is the distribution project's registry over one store. Create it with New, serve /v2/
// with Handler, and close it with Close.
type Registry struct {
	*handlers.App
	store *store.Store
}

// New opens the registry of store s. It keeps the key for upload sessions in root. The registry
// removes upload sessions that began longer ago than twice expiry. If expiry is 0, it removes none.
func New(root *os.Root, s *store.Store, expiry time.Duration) (r *Registry, err error) {
	secret, err := uploadSecret(root)
	if err != nil {
		return nil, err
	}
	// NewApp panics if the configuration is bad. New returns an error instead.
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("start registry: %v", p)
		}
	}()
	return &Registry{handlers.NewApp(context.Background(), registryConfig(s, secret, expiry)), s}, nil
}

// Handler returns the handler for /v2/: the registry library's handler, extended by reserved
// repositories, limits on pushes, referrers, manifest checks, and sha384 and sha512 digests.
// makeWay is called if too many uploads are open. It removes the push that has been idle longest,
// unless that push was active recently, and reports whether it removed one.
func (r *Registry) Handler(quota *limits.Quota, makeWay func(context.Context) bool, log *slog.Logger) http.Handler {
	blobs := &digestAliases{r.store, log, blobSender(r.store, r)}
	checked := remember(r.store, &manifestValidator{r.store, log, blobs})
	return protectReserved(&pushLimiter{quota, makeWay, lister(r.store, log, checked)})
}

// Close ends the registry's background purge of abandoned uploads.
func (r *Registry) Close() error { return r.Shutdown() }

// The registry library finds its drivers and middleware only by the names in its configuration.
// sharedDriver is the name of the store's own driver. storeHook is the name of store.Store.Hook,
// which records referrers and replaces damaged content.
const (
	sharedDriver = "shared"
	storeHook    = "store"
)

func init() {
	factory.Register(sharedDriver, shared{})
	if err := registrymiddleware.Register(storeHook, hooked); err != nil {
		panic(err) // the name is registered already
	}
}

type shared struct{}

func (shared) Create(_ context.Context, parameters map[string]any) (storagedriver.StorageDriver, error) {
	driver, ok := parameters["driver"].(storagedriver.StorageDriver)
	if !ok {
		return nil, errors.New("the shared driver is missing")
	}
	return driver, nil
}

func hooked(_ context.Context, registry distribution.Namespace, _ storagedriver.StorageDriver, options map[string]any) (distribution.Namespace, error) {
	s, ok := options["store"].(*store.Store)
	if !ok {
		return nil, errors.New("the store is missing")
	}
	return s.Hook(registry)
}

func registryConfig(s *store.Store, secret string, expiry time.Duration) *configuration.Configuration {
	config := &configuration.Configuration{
		Version: configuration.MajorMinorVersion(0, 1),
		Storage: configuration.Storage{
			sharedDriver: {"driver": store.FewStates(s.Driver)},
			"delete":     {"enabled": true},
			"redirect":   {"disable": true},
			// The library measures the age of an upload from its start. The depot itself measures
			// the idle time of an upload at /v1 from its last bytes, and removes the upload after
			// expiry. So the library must wait longer than expiry.
			"maintenance": {"uploadpurging": map[any]any{
				"enabled": expiry > 0, "age": (2 * expiry).String(), "interval": "24h", "dryrun": false,
			}},
		},
		HTTP: configuration.HTTP{
			Secret: secret,
			// Clients reach the depot under several names. A relative Location suits all of them.
			RelativeURLs: true,
		},
		Catalog: configuration.Catalog{MaxEntries: 1000},
		Tags:    configuration.Tags{MaxTags: 1000},
		Middleware: map[string][]configuration.Middleware{
			"registry": {{Name: storeHook, Options: configuration.Parameters{"store": s}}},
		},
	}
	// Some layers may not be redistributed: a manifest names them by their URLs, and the depot
	// never fetches them. By default, the library refuses manifests with such URLs.
	config.Validation.Manifests.URLs.Allow = []string{"^https?://"}
	return config
}

func uploadSecret(root *os.Root) (string, error) {
	held, err := root.ReadFile(secretFile)
	if err == nil && len(held) > 0 {
		return string(held), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read upload secret: %w", err)
	}
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // it is documented never to fail
	secret := hex.EncodeToString(fresh)
	if err := disk.WriteFile(root, secretFile, []byte(secret), 0o600); err != nil {
		return "", fmt.Errorf("store upload secret: %w", err)
	}
	return secret, nil
}
