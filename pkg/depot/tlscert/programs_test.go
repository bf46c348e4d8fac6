//go:build integration

package tlscert

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// programs has commands that request https://HOST:5443/ at 127.0.0.1:PORT and trust the CA in a
// file. The Python commands do the same as Ansible's get_url. The strict one checks certificates as
// newer versions of Python do.
var programs = map[string]func(ca, host, port string) []string{
	"openssl": func(ca, host, port string) []string {
		args := []string{"openssl", "s_client", "-connect", "127.0.0.1:" + port, "-CAfile", ca, "-no-CAfile", "-no-CApath", "-no-CAstore", "-verify_return_error", "-x509_strict"}
		if net.ParseIP(host) != nil {
			return append(args, "-noservername", "-verify_ip", host)
		}
		return append(args, "-servername", host, "-verify_hostname", host)
	},
	"curl": func(ca, host, port string) []string {
		return []string{"curl", "-sS", "--max-time", "30", "--cacert", ca, "--capath", "/nowhere", "--connect-to", "::127.0.0.1:" + port, "https://" + net.JoinHostPort(host, "5443") + "/"}
	},
	"gnutls": func(ca, host, port string) []string { // as in apt
		args := []string{"gnutls-cli", "--x509cafile", ca, "--verify-hostname", host, "--port", port, "127.0.0.1"}
		if net.ParseIP(host) != nil {
			return append(args, "--disable-sni")
		}
		return append(args, "--sni-hostname", host)
	},
	"python": func(ca, host, port string) []string {
		return []string{"python3", "-c", python, ca, host, port, ""}
	},
	"strict python": func(ca, host, port string) []string {
		return []string{"python3", "-c", python, ca, host, port, "strict"}
	},
}

const python = `
import socket, ssl, sys
_, ca, host, port, strict = sys.argv
context = ssl.create_default_context(cafile=ca)
if strict:
    context.verify_flags |= ssl.VERIFY_X509_STRICT
with socket.create_connection(("127.0.0.1", int(port)), 30) as plain, context.wrap_socket(plain, server_hostname=host) as c:
    c.sendall(b"GET / HTTP/1.0\r\n\r\n")
    print(c.recv(4096))
`

// TestClientsKeepToThePermittedNames checks common programs, both with the current certificate of
// the authority and with its certificate before a host was added. The programs must accept the
// depot's certificates. They must refuse certificates that a thief of the key signs for other
// hosts.
func TestClientsKeepToThePermittedNames(t *testing.T) {
	dir := t.TempDir()
	before := openNow(t, dir, "10.60.0.1", "depot.bpa-system.svc")
	now := openNow(t, dir, "10.60.0.1", "10.60.0.2", "depot.bpa-system.svc", "depot.example")
	ca := stolen(t, dir)
	for name, command := range programs {
		t.Run(name, func(t *testing.T) {
			for _, tt := range []struct {
				what, host string
				trusts     *Authority
				serves     *pair // nil: the depot's certificate
				want       bool
			}{
				{"a name", "depot.example", now, nil, true},
				{"an address", "10.60.0.2", now, nil, true},
				{"a name, by the certificate before", "depot.bpa-system.svc", before, nil, true},
				{"an address, by the certificate before", "10.60.0.1", before, nil, true},
				{"a new name, by the certificate before", "depot.example", before, nil, false},
				{"another name", "registry.example", now, forge(t, ca, x509.Certificate{DNSNames: []string{"registry.example"}}), false},
				{"another address", "192.0.2.1", now, forge(t, ca, x509.Certificate{IPAddresses: []net.IP{{192, 0, 2, 1}}}), false},
				{"another IPv6 address", "2001:db8::1", now, forge(t, ca, x509.Certificate{IPAddresses: []net.IP{net.ParseIP("2001:db8::1")}}), false},
				{"all names of others", "registry.others.example", now, forge(t, ca, x509.Certificate{DNSNames: []string{"*.others.example"}}), false},
				{"one of ours, and another", "depot.example", now, forge(t, ca, x509.Certificate{DNSNames: []string{"depot.example", "registry.example"}}), false},
			} {
				out, err := try(t, command(caFile(t, tt.trusts), tt.host, serve(t, now, tt.host, tt.serves)))
				if (err == nil) != tt.want {
					t.Errorf("%s: %v, want trust: %t\n%s", tt.what, err, tt.want, out)
				}
				if err != nil && !strings.Contains(out, "permitted subtree violation") && !strings.Contains(out, "violates the signer's constraints") {
					t.Errorf("%s is refused for another reason:\n%s", tt.what, out)
				}
			}
		})
	}
}

func openNow(t *testing.T, dir string, hosts ...string) *Authority {
	t.Helper()
	a, err := Open(dir, hosts, WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func caFile(t *testing.T, a *Authority) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, a.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a server for host. If with is nil, the server uses the depot's certificate.
// Otherwise it uses the certificate and the key of with.
func serve(t *testing.T, a *Authority, host string, with *pair) (port string) {
	t.Helper()
	config := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if with != nil {
			return &tls.Certificate{Certificate: [][]byte{with.cert.Raw}, PrivateKey: with.key}, nil
		}
		if ip := net.ParseIP(host); ip != nil {
			hello.Conn = reached{ip: ip}
		}
		return a.Certificate(hello)
	}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func try(t *testing.T, command []string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v (make integration installs it)", err)
	}
	return string(out), err
}
