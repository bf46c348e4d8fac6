package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/apt"
	"github.com/akraino-icn/bpa/pkg/depot/archive"
	"github.com/akraino-icn/bpa/pkg/depot/files"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/packages"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/registry"
	"github.com/akraino-icn/bpa/pkg/depot/rest"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/store/bucket"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// RegistryDir is the folder below the root that holds images and uploads. Option WithS3 puts them
// in a bucket instead.
const RegistryDir = "registry"

// Depot serves one root directory. Create it with New, and close it with Close.
type Depot struct {
	root      *os.Root
	files     *os.Root
	store     *store.Store
	registry  *registry.Registry
	uploads   *uploads.Service
	usage     *limits.Usage
	quota     *limits.Quota
	diskQuota *limits.Quota
	packages  *packages.Index
	// maintenance counts and frees the content.
	maintenance *maintenance
	handler     http.Handler
	log         *slog.Logger

	// held returns an error while another depot may hold the lease of the bucket. release gives the
	// lease back. Without a bucket, both do nothing.
	held    func() error
	release func() error
	// background is the context of the goroutines that work in the background. stop cancels it, and
	// done waits for these goroutines.
	background context.Context //nolint:containedctx // it ends with the depot, or when the lease is lost
	stop       func()
	done       sync.WaitGroup
}

type options struct {
	log    *slog.Logger
	limits limits.Limits
	s3     *bucket.At
	// software reads the installation status; nil: there is no Kubernetes.
	software rest.Software
	// importer replaces the archive importer in tests; nil: archive.Importer.
	importer uploads.Importer
	grace    time.Duration
	// wrap wraps the storage driver in tests; nil: the driver is used as it is.
	wrap store.Wrap
}

// Option changes how a Depot behaves.
type Option func(*options)

// WithLogger sets the logger; the default is slog.Default().
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithLimits sets the limits for uploads and pushes; the default is no limits.
func WithLimits(l limits.Limits) Option { return func(o *options) { o.limits = l } }

// WithS3 stores images and uploads in a bucket. Plain files, the upload secret and data that can be
// computed again stay in the root directory.
func WithS3(at bucket.At) Option { return func(o *options) { o.s3 = &at } }

// WithSoftware sets the reader of the installation status. By default, requests for it get 503.
func WithSoftware(s rest.Software) Option { return func(o *options) { o.software = s } }

// New opens the store in dir and creates missing folders. It starts to recover uploads that a crash
// interrupted, and returns before the recovery ends.
func New(dir string, opts ...Option) (*Depot, error) {
	o := options{log: slog.Default(), grace: DefaultGrace}
	for _, opt := range opts {
		opt(&o)
	}
	d := &Depot{log: o.log, held: func() error { return nil }, release: func() error { return nil }}
	d.background, d.stop = context.WithCancel(context.Background())
	if err := d.open(dir, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open depot %s: %w", dir, err), d.Close())
	}
	return d, nil
}

func (d *Depot) open(dir string, o options) error {
	if err := d.openFolders(dir); err != nil {
		return err
	}
	if err := d.openStore(dir, o); err != nil {
		return err
	}
	key, err := apt.OpenKey(d.root, o.log)
	if err != nil {
		return err
	}
	get, put, remove, sources := files.Handlers(d.root, d.files, key, d.uploads, d.quota, d.diskQuota, o.log)
	d.packages = packages.New(d.uploads, sources, o.log)
	sources.OnChange(d.packages.Changed)
	d.uploads.OnChange(func(ref protocol.Ref) {
		if ref.Kind == protocol.BinaryImages {
			d.packages.Changed()
		}
	})
	d.maintenance = &maintenance{depot: d, grace: o.grace, started: time.Now(), now: time.Now}
	v1, err := rest.New(rest.Services{
		Uploads: d.uploads, Quota: d.quota, Packages: d.packages, Software: o.software, Log: o.log,
		Maintenance: d.maintenance,
	})
	if err != nil {
		return err
	}
	d.handler = logged(o.log, leased(d.held, d.routes(v1, get, put, remove, key, o.log)))
	d.work(o)
	return nil
}

func (d *Depot) openFolders(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var err error
	if d.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	if err := d.root.MkdirAll(RegistryDir, 0o755); err != nil {
		return err
	}
	d.files, err = files.Open(d.root)
	return err
}

func (d *Depot) openStore(dir string, o options) (err error) {
	ctx := context.Background()
	d.usage = &limits.Usage{Files: d.files, All: o.limits.Quota > 0}
	wraps := []store.Wrap{d.usage.Over}
	if o.wrap != nil {
		wraps = append(wraps, o.wrap)
	}
	if o.s3 != nil {
		d.store, err = bucket.Open(ctx, *o.s3, wraps...)
	} else {
		d.usage.Dir = filepath.Join(dir, RegistryDir)
		d.store, err = store.OnDisk(ctx, d.usage.Dir, wraps...)
	}
	if err != nil {
		return err
	}
	if o.s3 != nil {
		l, release, err := HoldBucket(ctx, d.root, d.store.Driver, o.log, d.stop)
		if err != nil {
			return err
		}
		d.held, d.release = l.Held, release
	}
	if err := d.store.FinishRemovals(ctx); err != nil {
		o.log.Error("removals that were interrupted by the last stop cannot be finished: clients no longer see the artifacts, but their data is still stored; the next start tries again", "error", err)
	}
	if d.registry, err = registry.New(d.root, d.store, o.limits.Expiry); err != nil {
		return err
	}
	d.quota = limits.NewQuota(o.limits, d.usage)
	if o.s3 != nil { // then only plain files use this machine's disk
		d.diskQuota = limits.NewQuota(limits.Limits{MinFree: o.limits.MinFree}, limits.Disk(filepath.Join(dir, files.Dir)))
	}
	if o.importer == nil {
		o.importer = &archive.Importer{Store: d.store, Quota: d.quota}
	}
	d.uploads = uploads.New(d.store, d.quota, o.importer, o.log)
	return d.uploads.Inherit(ctx)
}

// tidyPause is the longest time between two searches for abandoned uploads.
const tidyPause = 10 * time.Minute

// work starts the background goroutines.
func (d *Depot) work(o options) {
	ctx := d.background
	d.done.Go(func() { d.uploads.Recover(ctx) })
	d.done.Go(func() { d.usage.Run(ctx, o.log) })
	if o.limits.Expiry > 0 {
		d.done.Go(func() { d.keepTidy(ctx, o) })
	}
}

func (d *Depot) keepTidy(ctx context.Context, o options) {
	tick := time.NewTicker(min(tidyPause, o.limits.Expiry))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := d.uploads.Expire(ctx); err != nil && ctx.Err() == nil {
			o.log.Error("abandoned uploads cannot be removed: the depot tries again later", "error", err)
		}
	}
}

func (d *Depot) routes(v1, get, put, remove, key http.Handler, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v2/", d.registry.Handler(d.quota, d.usage.MakeWay, log))
	mux.Handle("/v1/", v1)
	// A GET pattern also matches HEAD; the mux answers 405 to anything else.
	mux.Handle("GET /files/", http.StripPrefix("/files/", get))
	mux.Handle("PUT /files/", http.StripPrefix("/files/", put))
	mux.Handle("GET "+protocol.PackageKeyPath, key)
	mux.Handle("DELETE /files/", http.StripPrefix("/files/", remove))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", d.ready)
	return mux
}

// ServeHTTP implements http.Handler.
func (d *Depot) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// ready serves /readyz. It answers 503 if the root directory or the bucket cannot be read, for
// example because a mount disappeared or the S3 server is down. It also answers 503 if the bucket's
// lease is lost.
func (d *Depot) ready(w http.ResponseWriter, r *http.Request) {
	for _, dir := range []string{files.Dir, RegistryDir} {
		info, err := d.root.Stat(dir)
		if err == nil && !info.IsDir() {
			err = errors.New("is not a directory")
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("%s: %v: check the depot's root directory", dir, err), http.StatusServiceUnavailable)
			return
		}
	}
	if err := d.held(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if d.store.Dir() == "" {
		if _, err := d.store.Driver.Stat(r.Context(), store.BlobsPath); err != nil && !store.IsAbsent(err) {
			http.Error(w, fmt.Sprintf("the bucket cannot be read: %v: check the --s3 flags, the keys and the S3 server", err), http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = io.WriteString(w, "ready\n")
}

// StopWaiting ends the requests that wait for a change of the list of packages. Call it once, when the
// depot begins to stop: these requests would delay the stop.
func (d *Depot) StopWaiting() { d.packages.Stop() }

// Close stops background work, gives back the lease of the bucket and closes the root directory.
// Call it when no request is being served.
func (d *Depot) Close() error {
	d.stop()
	d.done.Wait()
	var errs []error
	if d.registry != nil {
		errs = append(errs, d.registry.Close())
	}
	errs = append(errs, d.release())
	for _, root := range []*os.Root{d.files, d.root} {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}
