package look

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

// statusError is an answer that is not 200 OK.
type statusError struct {
	code   int
	path   string
	checks string // the failed checks of /readyz, with commas
}

// denied reports whether the API server rejects the credentials or the request.
func (e *statusError) denied() bool {
	return e.code == http.StatusUnauthorized || e.code == http.StatusForbidden
}

func (e *statusError) Error() string {
	path, _, _ := strings.Cut(e.path, "?")
	switch {
	case e.denied():
		return fmt.Sprintf("the API server denies %s (%d %s)", path, e.code, http.StatusText(e.code))
	case e.checks != "":
		return "it is not ready: " + e.checks
	case path == "/readyz":
		return fmt.Sprintf("it is not ready (%d %s)", e.code, http.StatusText(e.code))
	}
	return fmt.Sprintf("it answers %s with %d %s", path, e.code, http.StatusText(e.code))
}

// failedChecks returns the names of the checks that failed, from lines such as "[-]etcd failed: reason
// withheld".
func failedChecks(text string) string {
	var names []string
	for line := range strings.Lines(text) {
		if check, bad := strings.CutPrefix(line, "[-]"); bad && len(names) < 5 {
			name, _, _ := strings.Cut(check, " ")
			names = append(names, name)
		}
	}
	return clean(strings.Join(names, ", "), mostText)
}

// explain describes an error in words that are the same for every look: the errors of package net
// contain the port of our own side, which is always another one.
func explain(err error) string {
	var status *statusError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &status):
		return status.Error()
	case errors.As(err, &dns):
		return "its name cannot be resolved"
	case hasExpired(err):
		return "its certificate has expired"
	case errors.As(err, &certificate):
		return clean("its certificate is not valid: "+certificate.Err.Error(), mostText)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route"
	case errors.Is(err, errTooLong):
		return errTooLong.Error()
	case errors.Is(err, errNoList):
		return errNoList.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "it closes the connection"
	}
	return "no usable answer"
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func hasExpired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// expired returns when the certificate of the API server expired, if that is why it was not accepted.
func expired(err error) (time.Time, bool) {
	var certificate *tls.CertificateVerificationError
	if !hasExpired(err) || !errors.As(err, &certificate) || len(certificate.UnverifiedCertificates) == 0 {
		return time.Time{}, false
	}
	return certificate.UnverifiedCertificates[0].NotAfter, true
}
