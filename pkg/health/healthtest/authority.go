package healthtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority signs the certificates of the servers and of their client.
type Authority struct {
	PEM         []byte
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
	// clientCertificate and clientKey are the client's, as PEM.
	clientCertificate, clientKey []byte
}

// NewAuthority returns an authority and a client of it.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := &Authority{key: key, PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.clientCertificate, a.clientKey = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "edge-1-health"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return a
}

// Certificate returns a certificate of an API server on this machine, which expires at this time.
func (a *Authority) Certificate(t testing.TB, expires time.Time) tls.Certificate {
	t.Helper()
	certificate, key := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: expires,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func (a *Authority) sign(t testing.TB, template *x509.Certificate) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial + 1)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// Kubeconfig returns a kubeconfig of the client for the server with this URL.
func (a *Authority) Kubeconfig(server string) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: edge-1-health@edge-1
contexts:
- name: edge-1-health@edge-1
  context: {cluster: edge-1, user: edge-1-health}
clusters:
- name: edge-1
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: edge-1-health
  user: {client-certificate-data: %s, client-key-data: %s}
`, server, encode(a.PEM), encode(a.clientCertificate), encode(a.clientKey))
}
