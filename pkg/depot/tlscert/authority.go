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

// Files in the folder. The first holds a private key behind the certificate; the second is public.
const (
	authorityFile = "ca.pem"
	publicFile    = "ca.crt"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// authorityWarning is how long before its end a person is told: every machine that trusts the authority must learn of the next.
	authorityWarning = 365 * 24 * time.Hour
	leafLife         = 90 * 24 * time.Hour
	// renewAhead leaves time to clients whose clocks are ahead.
	renewAhead = leafLife / 3
)

// epoch is before this program was written: a clock that is older was never set, and certificates by it would be expired once it is.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Authority signs the depot's own certificates and holds those in use. Make it with Open.
type Authority struct {
	dir    string
	hosts  []string
	now    func() time.Time
	log    *slog.Logger
	ca     *pair
	public []byte // PEM

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // by their hosts, joined; guarded by mu
}

// Option changes how an Authority behaves.
type Option func(*Authority)

// WithLogger says where new certificates are told.
func WithLogger(log *slog.Logger) Option { return func(a *Authority) { a.log = log } }

// Open reads the authority in dir, or makes it. Hosts are the DNS names and IP addresses by which clients reach the depot; the authority's
// certificate is made anew, for the same key, unless it permits exactly these. An authority that cannot be read, or is over, is an error and
// not replaced.
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
		return nil, fmt.Errorf("make the folder of certificates: %w", err)
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
		return fmt.Errorf("the depot's authority: %w; restore %s from a backup, or remove it and hand the new /ca.crt to every machine that trusts the old one", err, path)
	}
	if !now.Before(held.cert.NotAfter) {
		return fmt.Errorf("the depot's authority in %s ended on %s: remove the file, start again, and hand the new /ca.crt to every machine that trusts it", path, held.cert.NotAfter.Format(time.DateOnly))
	}
	if !isFor(held.cert, a.hosts) {
		if held, err = a.changeHosts(path, held); err != nil {
			return fmt.Errorf("make the depot's authority anew for %s: %w", strings.Join(a.hosts, ", "), err)
		}
	}
	a.ca, a.public = held, encode(certificateBlock, held.cert.Raw)
	// Written again at each start: only its copy in the first file counts.
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
	a.log.Info("made an authority for TLS: hand /ca.crt to the machines that use the depot", "file", path, "sha256", made.fingerprint(), "permitted", a.hosts)
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
		a.log.Warn("the authority has a certificate that permits the depot's names only. Machines with the one before work on, but would believe its key about every name: replace it there by /ca.crt", change...)
		return made, nil
	}
	a.log.Info("the authority has a certificate for other names. Machines with the one before work on with the names that it permits: replace it by /ca.crt where a new name is used", change...)
	return made, nil
}

func (a *Authority) fresh(leaf *x509.Certificate) bool {
	now := a.now()
	return now.After(leaf.NotBefore) && (now.Before(leaf.NotAfter.Add(-renewAhead)) || leaf.NotAfter.Equal(a.ca.cert.NotAfter))
}

// Certificate gives the certificate for a handshake, made or renewed when it is time.
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
		return nil, fmt.Errorf("make the depot's TLS certificate for %s: %w", key, err)
	}
	a.log.Info("TLS certificate made", "names", hosts, "ends", made.cert.NotAfter.Format(time.DateOnly))
	if end := a.ca.cert.NotAfter; a.now().Add(authorityWarning).After(end) {
		a.log.Warn("the depot's authority ends soon: plan to replace it, see docs/depot.md", "ends", end.Format(time.DateOnly))
	}
	a.leaves[key] = &tls.Certificate{Certificate: [][]byte{made.cert.Raw}, PrivateKey: made.key, Leaf: made.cert}
	return a.leaves[key], nil
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
