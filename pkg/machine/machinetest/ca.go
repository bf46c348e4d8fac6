// Package machinetest makes the certificates of a Kubernetes cluster for tests.
package machinetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"
)

// CA is the authority of a cluster.
type CA struct {
	PEM  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA returns a new authority, valid from a day before now.
func NewCA(t testing.TB, now time.Time) *CA {
	t.Helper()
	ca := &CA{cert: &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}}
	raw := sign(t, ca.cert, ca, &ca.key)
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	ca.cert, ca.PEM = cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	return ca
}

// Kubelet returns the certificate of the kubelet of a node, in PEM.
func (ca *CA) Kubelet(t testing.TB, node string) string {
	t.Helper()
	var key *ecdsa.PrivateKey
	raw := sign(t, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		NotBefore: ca.cert.NotBefore, NotAfter: ca.cert.NotAfter}, ca, &key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

// Member returns what pkg/machine prints for a machine with this node.
func (ca *CA) Member(t testing.TB, node string, controlPlane bool) string {
	t.Helper()
	text := fmt.Sprintf("ca %s\nkubelet %s\n", base64.StdEncoding.EncodeToString([]byte(ca.PEM)), base64.StdEncoding.EncodeToString([]byte(ca.Kubelet(t, node))))
	if controlPlane {
		text += "control-plane \n"
	}
	return text + "end\n"
}

// sign signs a certificate for a new key, which it stores in key.
func sign(t testing.TB, cert *x509.Certificate, by *CA, key **ecdsa.PrivateKey) []byte {
	t.Helper()
	var err error
	if *key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, cert, by.cert, &(*key).PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
