package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
)

const day = 24 * time.Hour

// The certificates are renewed while the machine runs. The authorities are not: all programs would have to get the new
// ones at the same time, so they last as long as an edge site may go without a visit.
const (
	lifetime   = 365 * day
	renewAt    = 120 * day // remaining lifetime at which a certificate is renewed
	caLifetime = 10 * 365 * day
	caRenewAt  = 180 * day
)

// pair is a certificate with its private key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// subject describes the wanted content of a certificate.
type subject struct {
	file   string // name of the .crt and .key files, without extension
	name   string // CN
	groups []string
	dns    []string
	ips    []string
	ca     bool
}

func (s subject) lifetime() time.Duration {
	if s.ca {
		return caLifetime
	}
	return lifetime
}

func (s subject) renewAt() time.Duration {
	if s.ca {
		return caRenewAt
	}
	return renewAt
}

// ensure returns the pair of the subject. If the stored certificate matches the subject, ensure
// keeps the stored pair. Otherwise it issues a new pair. If parent is nil, the certificate is
// self-signed.
func ensure(dir string, s subject, parent *pair, now time.Time) (*pair, error) {
	have, err := load(dir, s.file)
	switch {
	case err == nil && matches(have.cert, s, parent, now):
		return have, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	made, err := issue(s, parent, now)
	if err != nil {
		return nil, fmt.Errorf("issue %s: %w", s.file, err)
	}
	return made, store(dir, s.file, made)
}

// matches reports whether the certificate has the content of the subject, is signed by parent and
// is valid now and for long enough. If parent is nil, the certificate must be self-signed. A certificate that is not
// valid yet was issued while the clock was wrong; an authority is kept then, because the clock may be wrong now.
func matches(c *x509.Certificate, s subject, parent *pair, now time.Time) bool {
	issuer := c
	if parent != nil {
		issuer = parent.cert
	}
	return c.CheckSignatureFrom(issuer) == nil && now.Add(s.renewAt()).Before(c.NotAfter) && (s.ca || !now.Before(c.NotBefore)) &&
		c.Subject.CommonName == s.name && slices.Equal(c.Subject.Organization, s.groups) &&
		slices.Equal(c.DNSNames, s.dns) && slices.EqualFunc(c.IPAddresses, s.ips, func(ip net.IP, want string) bool { return ip.Equal(net.ParseIP(want)) })
}

func issue(s subject, parent *pair, now time.Time) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := newTemplate(s, serial, now)
	signer := &pair{cert: template, key: key}
	if parent != nil {
		signer = parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &pair{cert: cert, key: key}, err
}

func newTemplate(s subject, serial *big.Int, now time.Time) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: s.name, Organization: s.groups},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(s.lifetime()), DNSNames: s.dns,
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, ip := range s.ips {
		c.IPAddresses = append(c.IPAddresses, net.ParseIP(ip))
	}
	if s.ca {
		c.IsCA, c.ExtKeyUsage = true, nil
		c.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	return c
}

func load(dir, file string) (*pair, error) {
	certPEM, err := os.ReadFile(filepath.Join(dir, file+".crt"))
	if err != nil {
		return nil, err
	}
	key, err := loadKey(filepath.Join(dir, file+".key"))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(certPEM)
	if block == nil {
		return nil, fmt.Errorf("%s.crt in %s contains no PEM certificate: remove the file and try again", file, dir)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return &pair{cert: cert, key: key}, err
}

func loadKey(path string) (crypto.Signer, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s contains no PEM key: remove the file and try again", path)
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

func store(dir, file string, p *pair) error {
	if err := storeKey(filepath.Join(dir, file+".key"), p.key.(*ecdsa.PrivateKey)); err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(dir, file+".crt"), encode("CERTIFICATE", p.cert.Raw), 0o644)
}

func storeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return disk.WriteFile(path, encode("EC PRIVATE KEY", der), 0o600)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
