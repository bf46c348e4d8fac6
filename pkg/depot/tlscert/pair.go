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
	"net"
	"slices"
	"strings"
	"time"
)

// skew is how far a client's clock may be behind ours.
const skew = 24 * time.Hour

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

func authority(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: "BPA depot " + now.UTC().Format(time.DateOnly)},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
}

// leaf ends with its authority at the latest.
func leaf(hosts []string, now, end time.Time) *x509.Certificate {
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: "depot"}, NotBefore: now.Add(-skew), NotAfter: earlier(now.Add(leafLife), end),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	return c
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// sign gives the template a key and a signature; a nil parent signs itself.
func sign(template *x509.Certificate, parent *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
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

// covers tells whether the certificate is for exactly these hosts.
func covers(c *x509.Certificate, hosts []string) bool {
	have := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		have = append(have, ip.String())
	}
	slices.Sort(have)
	return slices.Equal(have, hosts)
}

// names are the hosts in one order and one spelling, with the machine's own names for itself.
func names(hosts []string) []string {
	all := []string{"localhost", "127.0.0.1", "::1"}
	for _, host := range hosts {
		host = strings.ToLower(strings.Trim(strings.TrimSpace(host), "[]"))
		if ip := net.ParseIP(host); ip != nil {
			host = ip.String()
		}
		if host != "" {
			all = append(all, host)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
