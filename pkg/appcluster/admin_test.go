package appcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// newCA returns the certificate of a new CA, and a private key, in PEM.
func newCA(t *testing.T) (certificate, private string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := func(kind string, raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
	}
	return inPEM("CERTIFICATE", raw), inPEM("EC PRIVATE KEY", der)
}

func kubeconfig(server, ca, cert, key string) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "admin",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server, "certificate-authority-data": []byte(ca)}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"client-certificate-data": []byte(cert), "client-key-data": []byte(key)}}},
		"contexts": []any{map[string]any{"name": "admin", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func noNode(string) bool { return false }

func TestEndpoint(t *testing.T) {
	ca, key := newCA(t)
	for server, want := range map[string]string{
		"https://127.0.0.1:6443":             "https://10.0.0.7:6443",
		"https://localhost:6443":             "https://10.0.0.7:6443",
		"https://[::1]:6443":                 "https://10.0.0.7:6443",
		"https://10.0.0.9:6443":              "https://10.0.0.9:6443",
		"https://api.edge-1.example:443":     "https://api.edge-1.example:443",
		"https://lb-apiserver.internal:6443": "https://lb-apiserver.internal:6443",
	} {
		got, err := parseAdmin([]byte(kubeconfig(server, ca, ca, key)), "10.0.0.7", noNode)
		if err != nil || got.endpoint != want {
			t.Errorf("endpoint of %s = %v, %v; want %s", server, got, err, want)
		}
	}
	if _, err := parseAdmin([]byte(kubeconfig("http://10.0.0.9:8080", ca, ca, key)), "10.0.0.7", noNode); err == nil {
		t.Error("a server without TLS is accepted")
	}
	if _, err := parseAdmin([]byte(kubeconfig("https://10.0.0.9:6443", ca+key, ca, key)), "10.0.0.7", noNode); err == nil {
		t.Error("a CA with a private key in it is accepted: it would be a result")
	}
}

// Anyone who is root on a node can write this file. Its content must not make the task's pod run a
// program, read a file or use a proxy.
func TestOnlyCertificatesAreTakenFromANode(t *testing.T) {
	ca, _ := newCA(t)
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("of this pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, replace := range map[string][2]string{
		"a program": {`"client-key-data":""`, `"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"true","interactiveMode":"Never"}`},
		"a file":    {`"client-key-data":""`, `"tokenFile":"` + secret + `"`},
		"a key":     {`"client-key-data":""`, `"client-key":"` + secret + `","client-certificate":"` + secret + `"`},
		"a proxy":   {`"server"`, `"proxy-url":"http://10.0.0.8:3128","server"`},
	} {
		text := strings.Replace(kubeconfig("https://10.0.0.9:6443", ca, "", ""), replace[0], replace[1], 1)
		if !strings.Contains(text, replace[1]) {
			t.Fatalf("%s: the kubeconfig was not changed: %s", what, text)
		}
		got, err := parseAdmin([]byte(text), "10.0.0.9", noNode)
		if err != nil {
			continue // the task may also reject the file
		}
		c := got.config
		if c.ExecProvider != nil || c.AuthProvider != nil || c.BearerToken+c.BearerTokenFile+c.CertFile+c.KeyFile+c.CAFile != "" || c.Proxy != nil {
			t.Errorf("%s of the node's kubeconfig is used: %v", what, c)
		}
	}
}

// TestOtherNode: the address of another node in admin.conf is replaced, unless it is a load balancer.
func TestOtherNode(t *testing.T) {
	first, second := contract.Node{Name: "master-1", Address: "10.0.0.1"}, contract.Node{Name: "master-2", Address: "10.0.0.2"}
	in := Input{Nodes: []contract.Node{first, second}}
	if other := in.otherNode(second); !other("10.0.0.1") || other("10.0.0.2") || other("lb.example") {
		t.Error("only the address of another node is replaced")
	}
	in.Request.Vars = map[string]json.RawMessage{"loadbalancer_apiserver": json.RawMessage(`{"address":"10.0.0.1","port":6443}`)}
	if in.otherNode(second)("10.0.0.1") {
		t.Error("the load balancer at the address of a node is replaced")
	}
}
