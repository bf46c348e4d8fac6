package cluster

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
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/access"
)

// serve starts an API server, and returns a kubeconfig for it. A value is in closed after each
// connection that was closed.
func serve(t *testing.T, handler http.HandlerFunc) (k access.Kubeconfig, closed chan struct{}) {
	t.Helper()
	closed = make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user(t, access.Admin).String()}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return access.Kubeconfig{
		Server: server.URL, CA: access.EncodeCertificate(server.Certificate()),
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, closed
}

// TestDisconnect: the connection stays open between calls, and disconnect closes it.
func TestDisconnect(t *testing.T) {
	k, closed := serve(t, func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write([]byte(`{"gitVersion":"v1.35.4"}`))
	})
	kube, disconnect, err := Connect(k)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := kube.Discovery().ServerVersion(); err != nil {
			t.Fatal(err)
		}
	}
	if len(closed) > 0 {
		t.Error("the connection is not used again")
	}
	disconnect()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("the connection stays open")
	}
}

// TestLongAnswers: short elements need much more memory than their bytes, and a header needs memory too.
func TestLongAnswers(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"many elements": func(out http.ResponseWriter, in *http.Request) {
			out.Header().Set("Content-Type", "application/json")
			_, _ = out.Write([]byte(`{"kind":"PodList","apiVersion":"v1","items":[{}` + strings.Repeat(",{}", commaLimit) + `]}`))
		},
		"a long header": func(out http.ResponseWriter, in *http.Request) {
			out.Header().Set("Content-Type", "application/json")
			out.Header().Set("X-Long", strings.Repeat("a", 2*headerLimit))
			_, _ = out.Write([]byte(`{"kind":"PodList","apiVersion":"v1"}`))
		},
	} {
		k, _ := serve(t, answer)
		kube, disconnect, err := Connect(k)
		if err != nil {
			t.Fatal(err)
		}
		defer disconnect()
		if list, err := kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Errorf("%s: %d pods", name, len(list.Items))
		}
	}
}

// TestEndlessAnswer: a server that sends without end does not fill the memory.
func TestEndlessAnswer(t *testing.T) {
	k, _ := serve(t, func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write([]byte(`{"kind":"SecretList","apiVersion":"v1","metadata":{"continue":"`))
		for in.Context().Err() == nil {
			if _, err := out.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	kube, disconnect, err := Connect(k)
	if err != nil {
		t.Fatal(err)
	}
	defer disconnect()
	if _, err = kube.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "is too long") {
		t.Errorf("error %v", err)
	}
}
