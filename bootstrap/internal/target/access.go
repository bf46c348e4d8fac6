package target

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"time"
)

// secret reads a file with credentials. It refuses one that other users may read.
func secret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the credentials for backups: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users than root may read or change the credentials in %s: run `chown root %s; chmod 600 %s`, and replace the credentials if others could have read them", path, path, path)
	}
	return os.ReadFile(path)
}

// transport returns an HTTP transport that trusts the authorities of the system and those of the access.
func (a Access) transport() (*http.Transport, error) {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("another program has replaced the HTTP transport")
	}
	t := base.Clone()
	t.ResponseHeaderTimeout = 10 * time.Minute // S3 joins the parts of a large file before it answers
	if a.CA == "" {
		return t, nil
	}
	text, err := os.ReadFile(a.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authorities for backups: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM: name the file with the certificate of the authority with --ca", a.CA)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t, nil
}
