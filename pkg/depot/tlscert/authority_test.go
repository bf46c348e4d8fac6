package tlscert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var start = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests set, safe for concurrent use.
type clock struct{ atomic.Int64 }

func newClock(at time.Time) *clock {
	c := &clock{}
	c.Store(at.UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.Add(int64(d)) }
func (c *clock) option() Option       { return func(a *Authority) { a.now = c.now } }
func quiet() Option                   { return WithLogger(slog.New(slog.DiscardHandler)) }

// served returns the certificate for a client that asks for a host. For an address, the client
// sends no name and connects to that address.
func served(a *Authority, host string) *x509.Certificate {
	hello := &tls.ClientHelloInfo{ServerName: host}
	if ip := net.ParseIP(host); ip != nil {
		hello = &tls.ClientHelloInfo{Conn: reached{ip: ip}}
	}
	c, err := a.Certificate(hello)
	if err != nil {
		panic(err) // this happens only if no key could be created
	}
	return c.Leaf
}

// reached is a connection of which only the local address is known.
type reached struct {
	net.Conn
	ip net.IP
}

func (r reached) LocalAddr() net.Addr { return &net.TCPAddr{IP: r.ip, Port: 5443} }

func open(t *testing.T, dir string, c *clock, hosts ...string) *Authority {
	t.Helper()
	a, err := Open(dir, hosts, c.option(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// trusts verifies the certificate for host as a client does that trusts ca.
func trusts(ca []byte, a *Authority, host string, now time.Time) error {
	return verify(ca, served(a, host), host, now)
}

func verify(ca []byte, leaf *x509.Certificate, host string, now time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return errors.New("CA is no PEM certificate")
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now})
	return err
}

func TestFirstStartMakesAnIdentityThatTheNextKeeps(t *testing.T) {
	dir, c := filepath.Join(t.TempDir(), "tls"), newClock(start)
	first := open(t, dir, c, "10.60.0.1", "Depot.bpa-system.svc.", "[fd00::1]")
	second := open(t, dir, c, "fd00::1", "10.60.0.1", "depot.bpa-system.svc", "")
	if !bytes.Equal(first.CA(), second.CA()) {
		t.Error("a restart made another authority")
	}
	for _, host := range []string{"10.60.0.1", "depot.bpa-system.svc", "DEPOT.bpa-system.svc", "fd00::1", "localhost", "127.0.0.1", "::1"} {
		for _, a := range []*Authority{first, second} {
			if err := trusts(first.CA(), a, host, start.Add(-time.Hour)); err != nil {
				t.Errorf("%s, by a clock that is behind: %v", host, err)
			}
		}
	}
	if err := trusts(first.CA(), first, "other.example", start); err == nil || !strings.Contains(err.Error(), "depot.bpa-system.svc") {
		t.Errorf("a host that is not in --host: %v; want an error with the hosts that are", err)
	}
	for name, want := range map[string]fs.FileMode{authorityFile: 0o600, publicFile: 0o644} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%d files, want 2: %v", len(entries), entries)
	}
}

func TestLeafIsRenewedAtTwoThirds(t *testing.T) {
	c := newClock(start)
	a := open(t, t.TempDir(), c)
	first := served(a, "localhost")
	c.pass(59 * 24 * time.Hour)
	if !served(a, "localhost").Equal(first) {
		t.Error("renewed before two thirds of its life")
	}
	c.pass(2 * 24 * time.Hour)
	second := served(a, "localhost")
	if second.Equal(first) {
		t.Fatal("not renewed after two thirds of its life")
	}
	if err := trusts(a.CA(), a, "localhost", c.now()); err != nil {
		t.Error(err)
	}
	c.pass(-70 * 24 * time.Hour) // the wrong clock is corrected
	if third := served(a, "localhost"); c.now().Before(third.NotBefore) {
		t.Errorf("valid from %s on, and it is %s", third.NotBefore, c.now())
	}
}

func TestLeafNeverOutlivesItsAuthority(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	a := open(t, dir, c)
	c.pass(authorityLife - 10*24*time.Hour)
	last := served(a, "localhost")
	if !last.NotAfter.Equal(a.ca.cert.NotAfter) {
		t.Errorf("ends %s, its authority %s", last.NotAfter, a.ca.cert.NotAfter)
	}
	if !served(a, "localhost").Equal(last) {
		t.Error("created again at every handshake, although it cannot end later")
	}
	c.pass(11 * 24 * time.Hour)
	if _, err := Open(dir, nil, c.option(), quiet()); err == nil || !strings.Contains(err.Error(), "expired on 2036-11-18") {
		t.Errorf("an authority that is over: %v", err)
	}
}

func TestDamagedAuthorityIsAnErrorAndKept(t *testing.T) {
	c := newClock(start)
	for name, damage := range map[string]func([]byte) []byte{
		"empty":             func([]byte) []byte { return nil },
		"cut":               func(b []byte) []byte { return b[:len(b)/2] },
		"a bit":             func(b []byte) []byte { b[200] ^= 1; return b },
		"key of another":    func(b []byte) []byte { return append(b[:bytes.Index(b, []byte("-----BEGIN PRIVATE"))], otherKey(t)...) },
		"not even a PEM":    func([]byte) []byte { return []byte("hello") },
		"key without a crt": func(b []byte) []byte { return b[bytes.Index(b, []byte("-----BEGIN PRIVATE")):] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, c)
			path := filepath.Join(dir, authorityFile)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := damage(raw)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Open(dir, nil, c.option(), quiet())
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "backup") {
				t.Errorf("error = %v, want one that names %s and says what to do", err, path)
			}
			if left, _ := os.ReadFile(path); !bytes.Equal(left, damaged) {
				t.Error("the authority was replaced unasked")
			}
		})
	}
}

func otherKey(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	open(t, dir, newClock(start))
	raw, err := os.ReadFile(filepath.Join(dir, authorityFile))
	if err != nil {
		t.Fatal(err)
	}
	return raw[bytes.Index(raw, []byte("-----BEGIN PRIVATE")):]
}

func TestClockThatWasNeverSet(t *testing.T) {
	_, err := Open(t.TempDir(), nil, newClock(time.Unix(0, 0)).option(), quiet())
	if err == nil || !strings.Contains(err.Error(), "clock says 1970-01-01: set it") {
		t.Errorf("error = %v", err)
	}
}

// TestRotationUnderLoadLosesNoRequest renews the certificate several times while clients open new
// connections.
func TestRotationUnderLoadLosesNoRequest(t *testing.T) {
	c := newClock(start)
	a := open(t, t.TempDir(), c)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a, TLSConfig: a.Config(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CA())

	var clients sync.WaitGroup
	var seen sync.Map // serial numbers
	for range 4 {
		clients.Go(func() {
			transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, Time: c.now}}
			client := &http.Client{Transport: transport, Timeout: time.Minute}
			for range 100 {
				resp, err := client.Get("https://" + listener.Addr().String())
				if err != nil {
					t.Errorf("a request was lost: %v", err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !bytes.Equal(body, a.CA()) {
					t.Errorf("answer %q, %v", body, err)
				}
				seen.Store(resp.TLS.PeerCertificates[0].SerialNumber.String(), true)
				c.pass(12 * time.Hour) // 400 requests take 200 days, in which the certificate is renewed at least three times
			}
		})
	}
	clients.Wait()
	count := 0
	seen.Range(func(any, any) bool { count++; return true })
	if count < 3 {
		t.Errorf("%d certificates were seen, want at least 3: the test shows nothing", count)
	}
}
