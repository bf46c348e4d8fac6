package depot

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // the storage that registryConfig names
)

// secretFile holds the key that signs upload sessions. It is kept so that an
// upload which was under way can go on after a restart.
const secretFile = "upload-secret"

// registry is the /v2/ door: the distribution project's registry as a handler.
type registry struct{ *handlers.App }

func newRegistry(root *os.Root, dir string) (r *registry, err error) {
	secret, err := uploadSecret(root)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(filepath.Join(dir, registryDir))
	if err != nil {
		return nil, err
	}
	// NewApp reports a bad configuration by panicking.
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("start registry: %v", p)
		}
	}()
	return &registry{handlers.NewApp(context.Background(), registryConfig(abs, secret))}, nil
}

// Close ends the registry's background purge of abandoned uploads.
func (r *registry) Close() error { return r.Shutdown() }

func registryConfig(dir, secret string) *configuration.Configuration {
	return &configuration.Configuration{
		Version: configuration.MajorMinorVersion(0, 1),
		Storage: configuration.Storage{
			"filesystem": {"rootdirectory": dir},
			"delete":     {"enabled": true},
			"redirect":   {"disable": true},
		},
		HTTP: configuration.HTTP{
			Secret: secret,
			// Clients reach us by several names; a relative Location is right for all.
			RelativeURLs: true,
		},
		Catalog: configuration.Catalog{MaxEntries: 1000},
		Tags:    configuration.Tags{MaxTags: 1000},
	}
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
	if err := writeFile(root, secretFile, []byte(secret), 0o600); err != nil {
		return "", fmt.Errorf("keep upload secret: %w", err)
	}
	return secret, nil
}
