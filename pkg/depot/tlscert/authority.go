package tlscert

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// These are the files in the folder. The first has the certificate and then its private key; the
// second has the certificate only, and is public.
const (
	authorityFile = "ca.pem"
	publicFile    = "ca.crt"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// authorityWarning is how long before the expiry of the authority the log begins to warn. In
	// this time, every machine that trusts the authority must be made to trust the next one too.
	authorityWarning = 365 * 24 * time.Hour
	leafLife         = 90 * 24 * time.Hour
	// renewAhead is how long before its expiry a server certificate is renewed, so that clients
	// whose clocks are ahead do not see an expired certificate.
	renewAhead = leafLife / 3
)

// epoch is a time before this program was written. A clock that shows an earlier time was never
// set. A certificate with that time would be expired once the clock is set.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Authority signs the depot's server certificates and caches those in use. Create it with Open.
type Authority struct {
	dir    string
	hosts  []string
	now    func() time.Time
	log    *slog.Logger
	ca     *pair
	public []byte // PEM

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // key: the hosts, joined by spaces; mu must be held
}

// Option changes how an Authority behaves.
type Option func(*Authority)

// WithLogger sets the logger, which reports new certificates.
func WithLogger(log *slog.Logger) Option { return func(a *Authority) { a.log = log } }

// Open reads the authority in dir, or creates it. hosts are the DNS names and IP addresses by which
// clients reach the depot. If the authority's certificate does not permit exactly these hosts, Open
// recreates it with the same key. If the authority cannot be read or has expired, Open returns an
// error and does not replace it.
func Open(dir string, hosts []string, opts ...Option) (*Authority, error) {
	a := &Authority{dir: dir, now: time.Now, log: slog.Default(), leaves: map[string]*tls.Certificate{}}
	for _, opt := range opts {
		opt(a)
	}
	var err error
	if a.hosts, err = spelled(hosts); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder of certificates: %w", err)
	}
	return a, a.openAuthority()
}

func (a *Authority) openAuthority() error {
	path, now := filepath.Join(a.dir, authorityFile), a.now()
	held, err := readPair(path)
	if errors.Is(err, fs.ErrNotExist) {
		held, err = a.makeAuthority(path, now)
	}
	if err != nil {
		return fmt.Errorf("the depot's certificate authority: %w; restore %s from a backup, or remove it and copy the new /ca.crt to every machine that trusts the old one", err, path)
	}
	if !now.Before(held.cert.NotAfter) {
		return fmt.Errorf("the depot's certificate authority in %s expired on %s: remove the file, start the depot again, and copy the new /ca.crt to every machine that trusts the old one", path, held.cert.NotAfter.Format(time.DateOnly))
	}
	if !isFor(held.cert, a.hosts) {
		if held, err = a.changeHosts(path, held); err != nil {
			return fmt.Errorf("recreate the certificate of the depot's authority for %s: %w", strings.Join(a.hosts, ", "), err)
		}
	}
	a.ca, a.public = held, encode(certificateBlock, held.cert.Raw)
	// The public file is written again at each start, from the certificate in the first file. Only
	// the first file counts.
	return writeFile(filepath.Join(a.dir, publicFile), a.public, 0o644)
}

func (a *Authority) makeAuthority(path string, now time.Time) (*pair, error) {
	if now.Before(epoch) {
		return nil, fmt.Errorf("this machine's clock says %s: set it first", now.Format(time.DateOnly))
	}
	made, err := newAuthority(a.hosts, now)
	if err != nil {
		return nil, err
	}
	a.log.Info("created a certificate authority for TLS: copy /ca.crt to the machines that use the depot", "file", path, "sha256", made.fingerprint(), "permitted", a.hosts)
	return made, writePair(path, made)
}

func (a *Authority) changeHosts(path string, old *pair) (*pair, error) {
	made, err := old.forHosts(a.hosts)
	if err != nil {
		return nil, err
	}
	if err := writePair(path, made); err != nil {
		return nil, err
	}
	change := []any{"file", path, "sha256", made.fingerprint(), "before", old.fingerprint(), "permitted", a.hosts}
	if !isConstrained(old.cert) {
		a.log.Warn("the authority has a new certificate that only permits the depot's names. Machines with the old certificate continue to work, but trust the authority's key for every name: on those machines, replace the old certificate with /ca.crt", change...)
		return made, nil
	}
	a.log.Info("the authority has a new certificate for other names. Machines with the old certificate continue to work with the names that the old certificate permits: replace it with /ca.crt on machines that use a new name", change...)
	return made, nil
}

func (a *Authority) fresh(leaf *x509.Certificate) bool {
	now := a.now()
	return now.After(leaf.NotBefore) && (now.Before(leaf.NotAfter.Add(-renewAhead)) || leaf.NotAfter.Equal(a.ca.cert.NotAfter))
}

// Certificate returns the certificate for a handshake. It creates or renews the certificate if
// needed.
func (a *Authority) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	hosts := a.askedFor(hello)
	key := strings.Join(hosts, " ")
	a.mu.Lock()
	defer a.mu.Unlock()
	if held := a.leaves[key]; held != nil && a.fresh(held.Leaf) {
		return held, nil
	}
	made, err := newLeaf(hosts, a.now(), a.ca)
	if err != nil {
		return nil, fmt.Errorf("create the depot's TLS certificate for %s: %w", key, err)
	}
	a.log.Info("created a TLS certificate", "names", hosts, "ends", made.cert.NotAfter.Format(time.DateOnly))
	if end := a.ca.cert.NotAfter; a.now().Add(authorityWarning).After(end) {
		a.log.Warn("the depot's certificate authority ends soon: plan to replace it, see docs/depot.md", "ends", end.Format(time.DateOnly))
	}
	a.leaves[key] = &tls.Certificate{Certificate: [][]byte{made.cert.Raw}, PrivateKey: made.key, Leaf: made.cert}
	return a.leaves[key], nil
}

// Config returns the configuration of a TLS listener.
func (a *Authority) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: a.Certificate}
}

// CA returns the authority's certificate in PEM, for machines that must trust the depot.
func (a *Authority) CA() []byte { return a.public }

// Fingerprint returns the SHA-256 of the authority's certificate, in the form of `openssl x509
// -fingerprint -sha256`.
func (a *Authority) Fingerprint() string { return a.ca.fingerprint() }

// ServeHTTP serves the authority's certificate. It is public, but a user who fetches it over plain
// HTTP should compare its fingerprint.
func (a *Authority) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, _ = w.Write(a.public)
}
