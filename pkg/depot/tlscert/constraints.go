package tlscert

import (
	"crypto/x509"
	"net"
	"slices"
)

// nowhere is a name that no host can have (RFC 2606).
const nowhere = "invalid"

// constrain limits an authority to these hosts. They must include names and addresses, since a type
// of name without a permitted value is not limited at all (RFC 5280, 4.2.1.10). For this reason,
// e-mail addresses and URIs get a permitted host that does not exist. By the standard, an empty
// string would exclude all e-mail addresses and URIs, but OpenSSL ignores an empty string. A
// permitted DNS name also permits the names below it.
func constrain(c *x509.Certificate, hosts []string) {
	c.PermittedDNSDomainsCritical = true // for all types of names: a client that does not support constraints must reject the certificate
	c.PermittedEmailAddresses, c.PermittedURIDomains = []string{nowhere}, []string{nowhere}
	names, addresses := divide(hosts)
	c.PermittedDNSDomains = names
	for _, ip := range addresses {
		c.PermittedIPRanges = append(c.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
	}
}

// isFor reports whether an authority is limited to exactly these hosts, and to server certificates.
func isFor(c *x509.Certificate, hosts []string) bool {
	var want x509.Certificate
	constrain(&want, hosts)
	same := func(a, b *net.IPNet) bool { return a.String() == b.String() }
	return c.PermittedDNSDomainsCritical && slices.Equal(c.ExtKeyUsage, serverOnly) &&
		slices.Equal(c.PermittedDNSDomains, want.PermittedDNSDomains) && slices.EqualFunc(c.PermittedIPRanges, want.PermittedIPRanges, same) &&
		slices.Equal(c.PermittedEmailAddresses, want.PermittedEmailAddresses) && slices.Equal(c.PermittedURIDomains, want.PermittedURIDomains)
}

// isConstrained reports whether an authority is limited to any hosts. Authorities of early versions
// are not.
func isConstrained(c *x509.Certificate) bool {
	return c.PermittedDNSDomainsCritical && len(c.PermittedDNSDomains) > 0 && len(c.PermittedIPRanges) > 0
}

// divide separates names from addresses. An IPv4 address has 4 bytes, an IPv6 address 16.
func divide(hosts []string) (names []string, addresses []net.IP) {
	for _, host := range hosts {
		ip := net.ParseIP(host)
		switch v4 := ip.To4(); {
		case ip == nil:
			names = append(names, host)
		case v4 != nil:
			addresses = append(addresses, v4)
		default:
			addresses = append(addresses, ip)
		}
	}
	return names, addresses
}
