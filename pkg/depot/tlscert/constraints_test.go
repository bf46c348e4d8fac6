package tlscert

import (
	"bytes"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stolen reads the authority's key as a thief does.
func stolen(t *testing.T, dir string) *pair {
	t.Helper()
	ca, err := readPair(filepath.Join(dir, authorityFile))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// forge signs a server certificate with a stolen key.
func forge(t *testing.T, ca *pair, names x509.Certificate) *pair {
	t.Helper()
	names.NotBefore, names.NotAfter, names.ExtKeyUsage = ca.cert.NotBefore, ca.cert.NotAfter, serverOnly
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	forged, err := sign(&names, key, ca)
	if err != nil {
		t.Fatal(err)
	}
	return forged
}

func TestStolenAuthorityIsWorthNothingElsewhere(t *testing.T) {
	for name, hosts := range map[string][]string{"with hosts": {"10.60.0.1", "depot.bpa-system.svc"}, "with its own names alone": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a := open(t, dir, newClock(start), hosts...)
			other, err := url.Parse("https://registry.example/")
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct {
				names x509.Certificate
				host  string // "": any host
			}{
				{x509.Certificate{DNSNames: []string{"registry.example"}}, "registry.example"},
				{x509.Certificate{DNSNames: []string{"*.example"}}, "registry.example"},
				{x509.Certificate{DNSNames: []string{"localhost", "registry.example"}}, "localhost"},
				{x509.Certificate{DNSNames: []string{"otherdepot.bpa-system.svc"}}, "otherdepot.bpa-system.svc"},
				{x509.Certificate{IPAddresses: []net.IP{net.ParseIP("192.0.2.1")}}, "192.0.2.1"},
				{x509.Certificate{IPAddresses: []net.IP{net.ParseIP("10.60.0.2")}}, "10.60.0.2"},
				{x509.Certificate{IPAddresses: []net.IP{net.ParseIP("2001:db8::1")}}, "2001:db8::1"},
				{x509.Certificate{EmailAddresses: []string{"root@registry.example"}}, ""},
				{x509.Certificate{URIs: []*url.URL{other}}, ""},
			} {
				if err := verify(a.CA(), forge(t, stolen(t, dir), tt.names).cert, tt.host, start); err == nil || !strings.Contains(err.Error(), "not permitted") {
					t.Errorf("%v %v %v %v: %v, want it not permitted", tt.names.DNSNames, tt.names.IPAddresses, tt.names.EmailAddresses, tt.names.URIs, err)
				}
			}
		})
	}
}

func TestStolenAuthorityMakesNoOther(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, newClock(start))
	below := forge(t, stolen(t, dir), x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(a.ca.cert)
	between.AddCert(below.cert)
	leaf := forge(t, below, x509.Certificate{DNSNames: []string{"localhost"}})
	_, err := leaf.cert.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: "localhost", CurrentTime: start})
	if err == nil || !strings.Contains(err.Error(), "too many intermediates") {
		t.Errorf("a certificate by an authority below ours: %v", err)
	}
}

// TestOtherHostsDisturbNobody checks that a client with an earlier certificate of the authority can
// still use the names of that certificate.
func TestOtherHostsDisturbNobody(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	first := open(t, dir, c, "a.example", "10.60.0.1")
	c.pass(24 * time.Hour)
	second := open(t, dir, c, "b.example", "a.example", "10.60.0.1", "10.60.0.2")
	if bytes.Equal(first.CA(), second.CA()) || first.Fingerprint() == second.Fingerprint() {
		t.Fatal("the authority was not recreated for the new names")
	}
	if !second.ca.cert.NotAfter.Equal(first.ca.cert.NotAfter) {
		t.Error("the authority's life changed")
	}
	for _, tt := range []struct {
		who, host string
		ca        []byte
		want      bool
	}{
		{"first", "a.example", first.CA(), true}, {"first", "10.60.0.1", first.CA(), true}, {"first", "localhost", first.CA(), true},
		{"first", "b.example", first.CA(), false}, {"first", "10.60.0.2", first.CA(), false},
		{"second", "a.example", second.CA(), true}, {"second", "b.example", second.CA(), true}, {"second", "10.60.0.2", second.CA(), true},
		{"both", "b.example", append(bytes.Clone(first.CA()), second.CA()...), true},
	} {
		if err := trusts(tt.ca, second, tt.host, c.now()); (err == nil) != tt.want {
			t.Errorf("a client with the %s certificate asks for %s: %v, want trust: %t", tt.who, tt.host, err, tt.want)
		}
	}
	third := open(t, dir, c, "b.example")
	if err := trusts(second.CA(), third, "b.example", c.now()); err != nil {
		t.Errorf("fewer names: %v", err)
	}
	if err := trusts(second.CA(), third, "a.example", c.now()); err == nil {
		t.Error("still serves the name that was taken away")
	}
	if err := verify(third.CA(), forge(t, stolen(t, dir), x509.Certificate{DNSNames: []string{"a.example"}}).cert, "a.example", c.now()); err == nil {
		t.Error("still permits the name that was taken away")
	}
}

// If the address of a connection was translated on the way, the depot cannot know which address the
// client used. The client then gets a certificate with all addresses. It has no DNS names, so a new
// DNS name does not affect this client.
func TestTranslatedAddressIsServedAllAddresses(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	first := open(t, dir, c, "192.0.2.7")
	second := open(t, dir, c, "192.0.2.7", "new.example")
	leaf := served(second, "10.60.0.15") // a pod's address behind a port of its node
	if err := verify(first.CA(), leaf, "192.0.2.7", start); err != nil {
		t.Error(err)
	}
}

// TestAuthorityOfAnEarlyVersion begins with an authority without constraints. Clients that trust
// its certificate continue to work, but the depot no longer serves that certificate.
func TestAuthorityOfAnEarlyVersion(t *testing.T) {
	dir, c := t.TempDir(), newClock(start)
	unbound := authority(nil, start)
	unbound.PermittedDNSDomainsCritical, unbound.PermittedDNSDomains, unbound.PermittedIPRanges = false, nil, nil
	unbound.PermittedEmailAddresses, unbound.PermittedURIDomains, unbound.ExtKeyUsage = nil, nil, nil
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	old, err := sign(unbound, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := writePair(filepath.Join(dir, authorityFile), old); err != nil {
		t.Fatal(err)
	}
	a := open(t, dir, c, "10.60.0.1")
	for _, host := range []string{"10.60.0.1", "localhost"} {
		for who, ca := range map[string][]byte{"old": encode(certificateBlock, old.cert.Raw), "new": a.CA()} {
			if err := trusts(ca, a, host, start); err != nil {
				t.Errorf("a client with the %s certificate asks for %s: %v", who, host, err)
			}
		}
	}
	if public, err := os.ReadFile(filepath.Join(dir, publicFile)); err != nil || !bytes.Equal(public, a.CA()) || bytes.Contains(public, encode(certificateBlock, old.cert.Raw)) {
		t.Errorf("%s holds %s (%v), want the new certificate alone", publicFile, public, err)
	}
	if !isFor(a.ca.cert, a.hosts) || isConstrained(old.cert) {
		t.Error("the certificate that is handed out is not constrained, or the test's old one was")
	}
}

func TestHostsThatNoConstraintCanHold(t *testing.T) {
	for _, host := range []string{"*.example", ".example", "depot.example:5443", "https://depot.example", "fe80::1%eth0", "a..b", "-a.example", "a b", strings.Repeat("a.", 127) + "a"} {
		if _, err := Open(t.TempDir(), []string{host}, quiet()); err == nil || !strings.Contains(err.Error(), "--host") {
			t.Errorf("%q: %v, want an error that says what to write", host, err)
		}
	}
}
