package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
)

// EncryptSecrets lets the API server store all Secrets again, so that those that an earlier build of the machine stored
// in clear text are encrypted. It does so once for each key, and reports whether it did. A former text stays in
// etcd's file until etcd has compacted it, and in free pages after that.
func (c Cluster) EncryptSecrets(ctx context.Context) (changed bool, err error) {
	const name = "encrypted-secrets"
	config, err := os.ReadFile(filepath.Join(c.Layout.PKI(), pki.Encryption))
	if err != nil || c.applied(name, config) {
		return false, err
	}
	quiet := c
	quiet.Log = io.Discard // no Secret goes to the log of the command
	for range 5 {
		if err = quiet.storeSecrets(ctx); err == nil {
			return true, c.record(name, config)
		}
	}
	return false, fmt.Errorf("encrypt the Secrets that are stored: %w", err)
}

// storeSecrets replaces each Secret by itself. One that was changed or deleted meanwhile is a failure.
func (c Cluster) storeSecrets(ctx context.Context) error {
	all, err := c.kubectl(ctx, time.Minute, nil, "get", "secrets", "--all-namespaces", "--output=json")
	if err != nil || !strings.Contains(all, `"kind": "Secret"`) {
		return err
	}
	_, err = c.kubectl(ctx, 2*time.Minute, []byte(all), "replace", "-f", "-")
	return err
}
