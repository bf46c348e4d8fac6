package tlscert

import (
	"crypto/x509"
	"net"
	"slices"
)

// nowhere is no host and never will be (RFC 2606).
const nowhere = "invalid"

// constrain lets an authority sign for these hosts only, which must hold names and addresses: a type of name of which nothing is permitted
// would not be constrained at all (RFC 5280, 4.2.1.10). Hence the one permitted host of e-mail addresses and URIs, which nobody has: an exclusion
// of everything is an empty string there, which OpenSSL takes for nothing. A permitted DNS name permits the names below it as well.
func constrain(c *x509.Certificate, hosts []string) {
	c.PermittedDNSDomainsCritical = true // says so for all types: who does not know constraints must not trust the certificate
	c.PermittedEmailAddresses, c.PermittedURIDomains = []string{nowhere}, []string{nowhere}
	names, addresses := divide(hosts)
	c.PermittedDNSDomains = names
	for _, ip := range addresses {
		c.PermittedIPRanges = append(c.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
	}
}

// isFor tells whether an authority may sign for exactly these hosts, as servers.
func isFor(c *x509.Certificate, hosts []string) bool {
	var want x509.Certificate
	constrain(&want, hosts)
	same := func(a, b *net.IPNet) bool { return a.String() == b.String() }
	return c.PermittedDNSDomainsCritical && slices.Equal(c.ExtKeyUsage, serverOnly) &&
		slices.Equal(c.PermittedDNSDomains, want.PermittedDNSDomains) && slices.EqualFunc(c.PermittedIPRanges, want.PermittedIPRanges, same) &&
		slices.Equal(c.PermittedEmailAddresses, want.PermittedEmailAddresses) && slices.Equal(c.PermittedURIDomains, want.PermittedURIDomains)
}

// isConstrained tells whether an authority is kept to any hosts at all; those of early versions were not.
func isConstrained(c *x509.Certificate) bool {
	return c.PermittedDNSDomainsCritical && len(c.PermittedDNSDomains) > 0 && len(c.PermittedIPRanges) > 0
}

// divide tells names from addresses. An IPv4 address has 4 bytes, another 16.
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
