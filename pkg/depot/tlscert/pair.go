package tlscert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// skew is how far a client's clock may be behind the depot's clock.
const skew = 24 * time.Hour

// serverOnly limits the authority and the certificates that it signs to servers; they are not valid
// for clients, mail or programs.
var serverOnly = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}

// pair is a certificate with its private key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (p *pair) fingerprint() string {
	sum := sha256.Sum256(p.cert.Raw)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}

// authority returns the template of an authority's certificate.
func authority(hosts []string, now time.Time) *x509.Certificate {
	c := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "BPA depot " + now.UTC().Format(time.DateTime)},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: serverOnly, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	constrain(c, hosts)
	return c
}

// newAuthority creates an authority with a new key.
func newAuthority(hosts []string, now time.Time) (*pair, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	return sign(authority(hosts, now), key, nil)
}

// forHosts returns the authority with a new certificate for other hosts. All server certificates of
// the authority are valid with its old and its new certificate.
func (p *pair) forHosts(hosts []string) (*pair, error) {
	c := authority(hosts, p.cert.NotBefore)
	c.RawSubject, c.SubjectKeyId = p.cert.RawSubject, p.cert.SubjectKeyId // server certificates name their issuer by these
	c.NotBefore, c.NotAfter = p.cert.NotBefore, p.cert.NotAfter
	return sign(c, p.key, nil)
}

// newLeaf creates a server certificate, which expires with its authority at the latest. Its subject
// has no common name. GnuTLS treats a common name as a host name, and OpenSSL does so if it looks
// like a host name. Both would refuse the certificate, since no constraint permits that name.
func newLeaf(hosts []string, now time.Time, by *pair) (*pair, error) {
	c := &x509.Certificate{
		Subject: pkix.Name{Organization: []string{"BPA depot"}}, NotBefore: now.Add(-skew), NotAfter: earlier(now.Add(leafLife), by.cert.NotAfter),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: serverOnly, BasicConstraintsValid: true,
	}
	c.DNSNames, c.IPAddresses = divide(hosts)
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	return sign(c, key, by)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// sign signs a certificate for a key. A nil signer means that the key itself signs.
func sign(template *x509.Certificate, key *ecdsa.PrivateKey, signer *pair) (*pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	if signer == nil {
		signer = &pair{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.cert, key.Public(), signer.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &pair{cert: cert, key: key}, err
}
