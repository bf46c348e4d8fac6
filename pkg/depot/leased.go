package depot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"time"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"

	"github.com/akraino-icn/bpa/pkg/depot/disk"
	"github.com/akraino-icn/bpa/pkg/depot/lease"
)

// idFile holds the id under which a depot holds the lease of a bucket. The id survives restarts.
// The lock on the directory keeps two processes from using the same id.
const idFile = "depot-id"

// releaseTime is the longest time for which a depot tries to give back the lease of its bucket when
// it stops.
const releaseTime = 10 * time.Second

// HoldBucket takes the lease of driver's bucket for the depot whose directory is root, and renews
// it until release is called. It calls lost if another depot takes the lease over.
func HoldBucket(ctx context.Context, root *os.Root, driver storagedriver.StorageDriver, log *slog.Logger, lost func()) (l *lease.Lease, release func() error, err error) {
	id, err := depotID(root)
	if err != nil {
		return nil, nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, err
	}
	if l, err = lease.Take(ctx, driver, id, host); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := l.Keep(ctx, func(err error) { log.Warn("the bucket's lease cannot be renewed: the depot tries again", "error", err) }); err != nil {
			log.Error("another depot has taken over the bucket: this depot refuses all writes from now on", "error", err)
			lost()
		}
	}()
	return l, func() error {
		cancel()
		<-ended
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		return l.Release(last)
	}, nil
}

func depotID(root *os.Root) (string, error) {
	held, err := root.ReadFile(idFile)
	if err == nil && len(held) > 0 {
		return string(held), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the depot's id: %w", err)
	}
	id := rand.Text()
	if err := disk.WriteFile(root, idFile, []byte(id), 0o600); err != nil {
		return "", fmt.Errorf("store the depot's id: %w", err)
	}
	return id, nil
}

// leased answers 503 to writes while held returns an error: another depot may then hold the bucket.
func leased(held func() error, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		if err := held(); err != nil && !reads {
			w.Header().Set("Retry-After", "10")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}
