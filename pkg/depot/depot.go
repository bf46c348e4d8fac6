package depot

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// Folders below the root. Only files is meant for people: what they put there
// appears under /files/ by the same path.
const (
	filesDir    = "files"
	registryDir = "registry"
	digestsDir  = "digests"
)

// defaultStall is how long one request may make no progress at all. It bounds
// a hanging peer without bounding how long a large blob may take.
const defaultStall = 2 * time.Minute

// Depot serves one root directory. Make it with New, end it with Close.
type Depot struct {
	root     *os.Root
	files    *os.Root
	registry *registry
	handler  http.Handler
}

type options struct {
	log   *slog.Logger
	stall time.Duration
}

// Option changes how a Depot behaves.
type Option func(*options)

// WithLogger says where the depot reports what a person should look at.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithStall sets how long a request may go without a byte moving.
func WithStall(d time.Duration) Option { return func(o *options) { o.stall = d } }

// New opens the store in dir, and makes the folders that are missing.
func New(dir string, opts ...Option) (*Depot, error) {
	o := options{log: slog.Default(), stall: defaultStall}
	for _, opt := range opts {
		opt(&o)
	}
	d := &Depot{}
	if err := d.open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open depot %s: %w", dir, err), d.Close())
	}
	d.handler = logged(o.log, bounded(o.stall, d.routes(o.log)))
	return d, nil
}

func (d *Depot) open(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var err error
	if d.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	for _, sub := range []string{filesDir, registryDir, digestsDir} {
		if err := d.root.MkdirAll(sub, 0o755); err != nil {
			return err
		}
	}
	if d.files, err = d.root.OpenRoot(filesDir); err != nil {
		return err
	}
	d.registry, err = newRegistry(d.root, dir)
	return err
}

func (d *Depot) routes(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v2/", d.registry)
	// A GET pattern also matches HEAD; the mux answers 405 to anything else.
	mux.Handle("GET /files/", http.StripPrefix("/files/", &fileServer{
		root:    d.files,
		digests: &digests{files: d.files, cache: d.root, racy: defaultRacy, log: log},
		log:     log,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", d.ready)
	return mux
}

// ServeHTTP answers one request.
func (d *Depot) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// ready says whether both stores can be read, which a vanished mount or a
// deleted root would prevent.
func (d *Depot) ready(w http.ResponseWriter, _ *http.Request) {
	for _, dir := range []string{filesDir, registryDir} {
		info, err := d.root.Stat(dir)
		if err == nil && !info.IsDir() {
			err = errors.New("is not a directory")
		}
		if err != nil {
			http.Error(w, fmt.Sprintf("%s: %v: check the depot's root directory", dir, err), http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = io.WriteString(w, "ready\n")
}

// Close stops background work and releases the root. Call it once no request
// is being served.
func (d *Depot) Close() error {
	var errs []error
	if d.registry != nil {
		errs = append(errs, d.registry.Close())
	}
	for _, root := range []*os.Root{d.files, d.root} {
		if root != nil {
			errs = append(errs, root.Close())
		}
	}
	return errors.Join(errs...)
}
