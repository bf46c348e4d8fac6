package apitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/access"
)

// kubeconfigServer is the URL of the API server in the kubeconfig of each machine.
const kubeconfigServer = "https://127.0.0.1:6443"

// pair has one certificate for the server and for its clients, with its key, in PEM. Its addresses are those of the
// machines of tests.
var pair = sync.OnceValues(func() (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	for i := range byte(32) {
		template.IPAddresses = append(template.IPAddresses, net.IPv4(127, 0, 0, i), net.IPv4(10, 60, 0, i))
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
})

func serverTLS(t testing.TB) *tls.Config {
	own, err := tls.X509KeyPair(pair())
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{own}}
}

// kubeconfig returns the kubeconfig of the administrator.
func kubeconfig() ([]byte, error) {
	certificate, key := pair()
	own, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return access.Kubeconfig{Server: kubeconfigServer, CA: certificate, Certificate: certificate, Key: key, Leaf: own.Leaf}.Encode()
}
