package tlscert

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Files in the folder. The first two hold a private key behind the certificate; the third is public.
const (
	authorityFile = "ca.pem"
	leafFile      = "server.pem"
	publicFile    = "ca.crt"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// authorityWarning is how long before its end a person is told: every machine that trusts the authority must learn of the next.
	authorityWarning = 365 * 24 * time.Hour
	leafLife         = 90 * 24 * time.Hour
	// renewAhead leaves a third of the leaf's life for whatever keeps it from being renewed, such as a full disk.
	renewAhead = leafLife / 3
	// retryAfter keeps a disk that refuses from being asked at every handshake.
	retryAfter = time.Minute
)

// epoch is before this program was written: a clock that is older was never set, and certificates by it would be expired once it is.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Authority signs the depot's own certificate and holds the one in use. Make it with Open.
type Authority struct {
	dir    string
	hosts  []string
	now    func() time.Time
	log    *slog.Logger
	ca     *pair
	public []byte // PEM

	leaf    atomic.Pointer[tls.Certificate]
	renewal sync.Mutex
	tryAt   time.Time // no renewal is tried before; guarded by renewal
}

// Option changes how an Authority behaves.
type Option func(*Authority)

// WithClock gives the time instead of time.Now.
func WithClock(now func() time.Time) Option { return func(a *Authority) { a.now = now } }

// WithLogger says where renewals and their failures are told.
func WithLogger(log *slog.Logger) Option { return func(a *Authority) { a.log = log } }

// Open reads the authority and the certificate in dir, and makes what is missing. Hosts are the DNS names and IP addresses by which
// clients reach the depot. An authority that cannot be read, or is over, is an error and not replaced.
func Open(dir string, hosts []string, opts ...Option) (*Authority, error) {
	a := &Authority{dir: dir, hosts: names(hosts), now: time.Now, log: slog.Default()}
	for _, opt := range opts {
		opt(a)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of certificates: %w", err)
	}
	if err := a.openAuthority(); err != nil {
		return nil, err
	}
	return a, a.openLeaf()
}

func (a *Authority) openAuthority() error {
	path, now := filepath.Join(a.dir, authorityFile), a.now()
	held, err := readPair(path)
	if errors.Is(err, fs.ErrNotExist) {
		held, err = a.makeAuthority(path, now)
	}
	if err != nil {
		return fmt.Errorf("the depot's authority: %w; restore %s from a backup, or remove it and hand the new /ca.crt to every machine that trusts the old one", err, path)
	}
	if !now.Before(held.cert.NotAfter) {
		return fmt.Errorf("the depot's authority in %s ended on %s: remove the file, start again, and hand the new /ca.crt to every machine that trusts it", path, held.cert.NotAfter.Format(time.DateOnly))
	}
	a.ca, a.public = held, encode(certificateBlock, held.cert.Raw)
	// Written again at each start: only its copy in the first file counts.
	return writeFile(filepath.Join(a.dir, publicFile), a.public, 0o644)
}

func (a *Authority) makeAuthority(path string, now time.Time) (*pair, error) {
	if now.Before(epoch) {
		return nil, fmt.Errorf("this machine's clock says %s: set it first", now.Format(time.DateOnly))
	}
	made, err := sign(authority(now), nil)
	if err != nil {
		return nil, err
	}
	a.log.Info("made an authority for TLS: hand /ca.crt to the machines that use the depot", "file", path, "sha256", made.fingerprint())
	return made, writePair(path, made)
}

func (a *Authority) openLeaf() error {
	held, err := readPair(filepath.Join(a.dir, leafFile))
	switch {
	case err == nil && a.serves(held):
		a.use(held)
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		// Nobody trusts it by itself, so a new one does no harm.
		a.log.Warn("the depot's TLS certificate is of no use and is made anew", "error", err)
	}
	return a.renew()
}

// serves tells whether the certificate need not be made anew.
func (a *Authority) serves(p *pair) bool {
	return p.cert.CheckSignatureFrom(a.ca.cert) == nil && a.fresh(p.cert.NotBefore, p.cert.NotAfter) && covers(p.cert, a.hosts)
}

func (a *Authority) fresh(notBefore, notAfter time.Time) bool {
	now := a.now()
	return now.After(notBefore) && (now.Before(notAfter.Add(-renewAhead)) || notAfter.Equal(a.ca.cert.NotAfter))
}

// renew makes a certificate and serves it from the next handshake on.
func (a *Authority) renew() error {
	now := a.now()
	made, err := sign(leaf(a.hosts, now, a.ca.cert.NotAfter), a.ca)
	if err != nil {
		return fmt.Errorf("make the depot's TLS certificate: %w", err)
	}
	if err := writePair(filepath.Join(a.dir, leafFile), made); err != nil {
		return fmt.Errorf("keep the depot's TLS certificate: %w", err)
	}
	a.use(made)
	a.log.Info("TLS certificate made", "names", a.hosts, "ends", made.cert.NotAfter.Format(time.DateOnly))
	if end := a.ca.cert.NotAfter; now.Add(authorityWarning).After(end) {
		a.log.Warn("the depot's authority ends soon: plan to replace it, see docs/depot.md", "ends", end.Format(time.DateOnly))
	}
	return nil
}

func (a *Authority) use(p *pair) {
	a.leaf.Store(&tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert})
}

// Certificate gives the certificate for a handshake, renewed when it is time. Handshakes beside the one that renews, and all after a
// failure, get the old one.
func (a *Authority) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	held := a.leaf.Load()
	if a.fresh(held.Leaf.NotBefore, held.Leaf.NotAfter) || !a.renewal.TryLock() {
		return held, nil
	}
	defer a.renewal.Unlock()
	now := a.now()
	if held = a.leaf.Load(); a.fresh(held.Leaf.NotBefore, held.Leaf.NotAfter) || now.Before(a.tryAt) {
		return held, nil
	}
	if err := a.renew(); err != nil {
		a.tryAt = now.Add(retryAfter)
		a.log.Error("TLS certificate not renewed: the old one serves on", "ends", held.Leaf.NotAfter, "error", err)
	}
	return a.leaf.Load(), nil
}

// Config is what a TLS listener needs.
func (a *Authority) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.Certificate}
}

// CA is the authority's certificate in PEM, for those who are to trust the depot.
func (a *Authority) CA() []byte { return a.public }

// Fingerprint is the SHA-256 of the authority's certificate, as `openssl x509 -fingerprint -sha256` prints it.
func (a *Authority) Fingerprint() string { return a.ca.fingerprint() }

// ServeHTTP hands out the authority's certificate. It is public, but who fetches it over plain HTTP should compare its fingerprint.
func (a *Authority) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, _ = w.Write(a.public)
}
