package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// explain says what to do about an error of a connection; nil: it is none.
func explain(err error, server string) error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s has not accepted or sent everything in time: %w", server, err)
	case errors.As(err, &authority):
		return fmt.Errorf("the certificate of %s is of an authority that this machine does not trust (%w): name the file with the authority's certificate with --ca", server, authority)
	case errors.As(err, &name):
		return fmt.Errorf("the certificate of %s is for another server (%w): use a name that it has", server, name)
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of %s is refused (%w): renew it, or correct the clock of this machine", server, certificate)
	case errors.As(err, &plain):
		return fmt.Errorf("%s answers without TLS: use the address of its TLS listener", server)
	case errors.As(err, &network):
		return fmt.Errorf("%s does not answer (%w): check its address and the network, and that it runs", server, network)
	}
	return nil
}
