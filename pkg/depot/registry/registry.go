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

// secretFile holds the key that signs upload sessions. It is kept so that an
// upload which was under way can go on after a restart.
const secretFile = "upload-secret"

// Registry serves /v2/: the distribution project's registry over one store. Make it with New and end it with Close.
type Registry struct {
	*handlers.App
	store *store.Store
}

// New opens the registry of a store. The key for upload sessions is kept in root. Upload sessions without progress expire after expiry; 0: never.
func New(root *os.Root, s *store.Store, expiry time.Duration) (r *Registry, err error) {
	secret, err := uploadSecret(root)
	if err != nil {
		return nil, err
	}
	// NewApp reports a bad configuration by panicking.
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("start registry: %v", p)
		}
	}()
	return &Registry{handlers.NewApp(context.Background(), registryConfig(s, secret, expiry)), s}, nil
}

// Handler is the registry with what its library leaves out: reserved repositories, limits on pushes, referrers, checks of manifests, blobs under
// other digests. makeWay ends the idle push with the longest rest, if there is one, and reports whether it did.
func (r *Registry) Handler(gate *limits.Quota, makeWay func(context.Context) bool, log *slog.Logger) http.Handler {
	blobs := &digestAliases{r.store, log, blobSender(r.store, r)}
	return protectReserved(&pushLimiter{gate, makeWay, lister(r.store, log, &manifestValidator{r.store, log, blobs})})
}

// Close ends the registry's background purge of abandoned uploads.
func (r *Registry) Close() error { return r.Shutdown() }

// The library makes its parts by their names in its configuration. Ours stand
// for the driver that the rest of the depot uses already, and for what the
// store notes beside manifests, whoever writes them.
const (
	sharedDriver = "shared"
	storeHook    = "store"
)

func init() {
	factory.Register(sharedDriver, shared{})
	if err := registrymiddleware.Register(storeHook, hooked); err != nil {
		panic(err) // two of one name
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
			// It counts from an upload's beginning, and /v1's uploads, which expire by
			// themselves, from its last bytes: so it waits for longer.
			"maintenance": {"uploadpurging": map[any]any{
				"enabled": expiry > 0, "age": (2 * expiry).String(), "interval": "24h", "dryrun": false,
			}},
		},
		HTTP: configuration.HTTP{
			Secret: secret,
			// Clients reach us by several names; a relative Location is right for all.
			RelativeURLs: true,
		},
		Catalog: configuration.Catalog{MaxEntries: 1000},
		Tags:    configuration.Tags{MaxTags: 1000},
		Middleware: map[string][]configuration.Middleware{
			"registry": {{Name: storeHook, Options: configuration.Parameters{"store": s}}},
		},
	}
	// Layers that may not be redistributed are named by where they are: the depot
	// never fetches them. The library takes no such layer unless it is told to.
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
	_, _ = rand.Read(fresh) // never fails, by its contract
	secret := hex.EncodeToString(fresh)
	if err := disk.WriteFile(root, secretFile, []byte(secret), 0o600); err != nil {
		return "", fmt.Errorf("keep upload secret: %w", err)
	}
	return secret, nil
}
