package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// open starts a depot with a local, a plain and a TLS listener.
func open(t *testing.T, root string, args ...string) *process {
	t.Helper()
	p := startWith(t, nil, append([]string{"--root=" + root, "--local-listen=127.0.0.1:0", "--listen=127.0.0.1:0", "--tls-listen=127.0.0.1:0"}, args...)...)
	p.useToken(t, root)
	return p
}

// trusting returns a transport that trusts the CA certificate from the plain listener.
func trusting(t *testing.T, p *process) *http.Transport {
	t.Helper()
	status, ca := get(t, http.DefaultClient, "http://"+p.listeners["plain"]+"/ca.crt")
	roots := x509.NewCertPool()
	if status != http.StatusOK || !roots.AppendCertsFromPEM([]byte(ca)) {
		t.Fatalf("/ca.crt = %d %q", status, ca)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func get(t *testing.T, client *http.Client, url string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

// TestEachListenerAllowsItsOwnRequests pushes and pulls over all three listeners with an ordinary
// registry client, which has no code for the depot.
func TestEachListenerAllowsItsOwnRequests(t *testing.T) {
	root := t.TempDir()
	depot := open(t, root)
	transport := trusting(t, depot)
	secret, err := localToken(root)
	if err != nil {
		t.Fatal(err)
	}
	img, err := random.Image(1<<20, 2)
	if err != nil {
		t.Fatal(err)
	}
	ref := func(endpoint string) name.Tag {
		ref, err := name.NewTag(depot.listeners[endpoint] + "/app:v1")
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	for _, tt := range []struct{ listener, password, refusal string }{
		{"plain", string(secret), "this listener is for reading only"},
		{"tls", string(secret), "this depot has no Kubernetes to ask about tokens"},
		{"local", "", "cat " + filepath.Join(root, localTokenFile)},
		{"local", "guessed", "the token is refused"},
		{"local", string(secret), ""},
	} {
		auth := authn.Anonymous
		if tt.password != "" {
			auth = &authn.Basic{Username: "any", Password: tt.password}
		}
		err := remote.Write(ref(tt.listener), img, remote.WithTransport(transport), remote.WithAuth(auth))
		if tt.refusal == "" && err != nil || tt.refusal != "" && (err == nil || !strings.Contains(err.Error(), tt.refusal)) {
			t.Errorf("push to the %s listener: %v; want %q", tt.listener, err, tt.refusal)
		}
	}
	for endpoint := range depot.listeners {
		pulled, err := remote.Image(ref(endpoint), remote.WithTransport(transport))
		if err == nil {
			err = validate.Image(pulled)
		}
		if err != nil {
			t.Errorf("pull from the %s listener: %v", endpoint, err)
		}
	}
	if status, body := get(t, &http.Client{Transport: transport}, "https://"+depot.listeners["tls"]+"/readyz"); status != http.StatusOK {
		t.Errorf("readyz over TLS = %d %s", status, body)
	}
}

func TestAuthoritySurvivesRestart(t *testing.T) {
	root := t.TempDir()
	first := open(t, root)
	transport := trusting(t, first)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	second := open(t, root, "--host=depot.example")
	if status, _ := get(t, &http.Client{Transport: transport}, "https://"+second.listeners["tls"]+"/readyz"); status != http.StatusOK {
		t.Errorf("readyz by the old CA = %d", status)
	}
	for _, secret := range []string{"/files/../tls/ca.pem", "/tls/ca.pem", "/files/%2e%2e/tls/ca.pem", "/files/../local-token", "/local-token"} {
		if status, body := get(t, http.DefaultClient, "http://"+second.listeners["plain"]+secret); strings.Contains(body, "PRIVATE KEY") || status == http.StatusOK {
			t.Errorf("%s = %d %s", secret, status, body)
		}
	}
}

func TestSocketFileIsForItsOwnerAndOutlivesAKill(t *testing.T) {
	root, socket := t.TempDir(), filepath.Join(t.TempDir(), "depot.sock")
	for range 2 { // the second depot finds the socket file that the first one left behind
		depot := startWith(t, nil, "--root="+root, "--local-listen=unix:"+socket)
		info, err := os.Stat(socket)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v; want mode 0600", info.Mode(), err)
		}
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
		if status, body := get(t, client, "http://depot/v2/"); status != http.StatusOK {
			t.Errorf("/v2/ = %d %s", status, body)
		}
		client.CloseIdleConnections()
		if err := depot.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = depot.Wait()
	}
}

// TestHostilePeers checks that the depot refuses or cuts off clients that send too much or too
// slowly, and then serves the next client.
func TestHostilePeers(t *testing.T) {
	depot := open(t, t.TempDir(), "--max-connections=2", "--max-connections-per-address=2")
	transport := trusting(t, depot)
	plain := depot.listeners["plain"]

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+plain+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.Repeat("x", 2*largestHeader))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("oversize header = %s", response.Status)
	}

	manifest := bytes.Repeat([]byte(" "), 5<<20)
	put, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+depot.address+"/v2/app/manifests/v1", bytes.NewReader(manifest))
	if err != nil {
		t.Fatal(err)
	}
	put.Header.Set("Content-Type", string(types.OCIManifestSchema1))
	if response, err = http.DefaultClient.Do(put); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if response.StatusCode/100 != 4 {
		t.Errorf("oversize manifest = %s %s", response.Status, text)
	}

	// Two clients that never finish their headers use both connections that this listener allows,
	// until the depot cuts them off.
	http.DefaultClient.CloseIdleConnections()
	transport.CloseIdleConnections()
	began := time.Now()
	var slow []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", plain)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprint(c, "GET /readyz HTTP/1.1\r\nHost: depot\r\nX: "); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
	}
	if status, _ := get(t, http.DefaultClient, "http://"+plain+"/readyz"); status != http.StatusOK {
		t.Errorf("after the slow clients: %d", status)
	}
	if took := time.Since(began); took < headerTimeout/2 {
		t.Errorf("served after %s: --max-connections has no effect", took)
	}
	for _, c := range slow {
		if err := c.SetReadDeadline(began.Add(3 * headerTimeout)); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(c); err != nil || strings.Contains(string(answer), "200 OK") {
			t.Errorf("a request without an end: %q, %v; want the connection closed", answer, err)
		}
	}
	if status, _ := get(t, &http.Client{Transport: transport}, "https://"+depot.listeners["tls"]+"/readyz"); status != http.StatusOK {
		t.Errorf("the TLS listener at the same time: %d", status)
	}
}

// dialFrom connects from one of the addresses of this machine.
func dialFrom(t *testing.T, address, to string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// getFrom fails unless the depot serves the request within limit.
func getFrom(t *testing.T, address, host, path string, limit time.Duration) {
	t.Helper()
	c := dialFrom(t, address, host)
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: depot\r\nConnection: close\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); !strings.HasPrefix(string(got), "HTTP/1.1 200 ") {
		t.Errorf("GET %s from %s: %.100q, %v; want to be served within %s", path, address, got, err, limit)
	}
}

// TestSilentRequestsKeepNobodyOut checks requests that never send their body. Together they may use
// only a share of the connections that the listener allows, and only for a limited time. Some of
// these requests are refused, others are not.
func TestSilentRequestsKeepNobodyOut(t *testing.T) {
	const places, attackers = 8, 40
	depot := open(t, t.TempDir(), fmt.Sprint("--max-connections=", places), "--probe-listen=127.0.0.1:0")
	plain := depot.listeners["plain"]
	began := time.Now()
	var silent []net.Conn
	for n := range attackers {
		c := dialFrom(t, "127.0.0.1", plain)
		path := []string{"/v2/app/blobs/uploads/", "/files/a", "/readyz", "/nowhere"}[n%4]
		if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: depot\r\nContent-Length: 1\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		silent = append(silent, c)
	}
	getFrom(t, "127.0.0.2", plain, "/files/", 5*time.Second)
	getFrom(t, "127.0.0.1", depot.listeners["probe"], "/readyz", 5*time.Second)
	for _, c := range silent[:places] { // the first connections get a place, some of them after a wait
		if err := c.SetReadDeadline(began.Add(45 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("after %s a request without its body still has its place", time.Since(began))
		}
	}
	getFrom(t, "127.0.0.1", plain, "/readyz", 5*time.Second)
}

// TestTwoAddressesKeepNobodyOutForLong takes all places of a listener with idle connections of two
// clients. Each of these clients then opens more connections, which send requests without their
// body and wait for places. A third client must nevertheless be served within a limited time.
func TestTwoAddressesKeepNobodyOutForLong(t *testing.T) {
	const places, each = 8, 4
	depot := open(t, t.TempDir(), fmt.Sprint("--max-connections=", places), fmt.Sprint("--max-connections-per-address=", each))
	plain := depot.listeners["plain"]
	for _, attacker := range []string{"127.0.0.2", "127.0.0.3"} {
		for range each {
			c := dialFrom(t, attacker, plain)
			if _, err := fmt.Fprint(c, "GET /readyz HTTP/1.1\r\nHost: depot\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
				t.Fatalf("answer = %q, %v", line, err)
			}
		}
		for range each {
			c := dialFrom(t, attacker, plain)
			if _, err := fmt.Fprint(c, "POST /files/a HTTP/1.1\r\nHost: depot\r\nContent-Length: 1\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	getFrom(t, "127.0.0.1", plain, "/readyz", 45*time.Second)
}

// TestProbesAreAnsweredWhenEveryPlaceIsTaken also checks that the probe listener serves nothing but
// probes.
func TestProbesAreAnsweredWhenEveryPlaceIsTaken(t *testing.T) {
	depot := open(t, t.TempDir(), "--max-connections=2", "--probe-listen=127.0.0.1:0")
	for _, endpoint := range []string{"plain", "tls"} {
		for n := range 2 {
			c := dialFrom(t, fmt.Sprint("127.0.0.", n+1), depot.listeners[endpoint])
			if _, err := io.WriteString(c, "GET /readyz HTTP/1.1\r\nX: "); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		getFrom(t, "127.0.0.1", depot.listeners["probe"], path, 5*time.Second)
	}
	for _, path := range []string{"/v2/", "/files/", "/v1/openapi.json"} {
		if status, _ := get(t, http.DefaultClient, "http://"+depot.listeners["probe"]+path); status != http.StatusNotFound {
			t.Errorf("%s at the listener for probes = %d, want 404", path, status)
		}
	}
}

// TestATransferBelowTheRateGivesItsPlaceBack covers a client that sends a byte now and then, and a
// client that reads nothing.
func TestATransferBelowTheRateGivesItsPlaceBack(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(root, "files", "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<30); err != nil {
		t.Fatal(err)
	}
	depot := open(t, root, "--max-connections=2", "--min-rate=256MiB")
	reader := dialFrom(t, "127.0.0.1", depot.listeners["plain"])
	if _, err := io.WriteString(reader, "GET /files/big HTTP/1.1\r\nHost: depot\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	writer := dialFrom(t, "127.0.0.2", depot.listeners["plain"])
	if _, err := io.WriteString(writer, "PUT /files/a HTTP/1.1\r\nHost: depot\r\nContent-Length: 100\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	go func() {
		for range tick.C {
			if _, err := io.WriteString(writer, "x"); err != nil {
				return
			}
		}
	}()
	getFrom(t, "127.0.0.1", depot.listeners["plain"], "/readyz", 30*time.Second)
	getFrom(t, "127.0.0.2", depot.listeners["plain"], "/readyz", 30*time.Second)
}
