package tlscert

import (
	"crypto/tls"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
)

// own lists the names by which a machine reaches itself. Every authority permits them, so every
// authority is limited to at least one name and one address (see constrain).
var own = []string{"localhost", "127.0.0.1", "::1"}

// hostName matches a DNS name. It does not match a wildcard or a leading dot: in a constraint,
// these would mean several hosts or none.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// longestName is the largest length of a DNS name.
const longestName = 253

// spelled returns the hosts and the machine's own names, normalized and sorted.
func spelled(hosts []string) ([]string, error) {
	all := slices.Clone(own)
	for _, host := range hosts {
		host = spell(host)
		if host == "" {
			continue
		}
		if net.ParseIP(host) == nil && (len(host) > longestName || !hostName.MatchString(host)) {
			return nil, fmt.Errorf("%q is neither a host name nor an IP address: give --host a name or address as in the URLs of clients, without a port or a wildcard", host)
		}
		all = append(all, host)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func spell(host string) string {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(strings.TrimSpace(host), "[]")), ".")
	if ip := net.ParseIP(host); ip != nil {
		return ip.String()
	}
	return host
}

// askedFor returns the hosts for the certificate of a client. It returns as few as possible: the
// client may trust an earlier certificate of the authority, and would refuse a server certificate
// with a host that the earlier certificate does not permit. A client that sends no name has
// connected to an address: see reachedAt.
func (a *Authority) askedFor(hello *tls.ClientHelloInfo) []string {
	if hello.ServerName != "" {
		return oneOf(spell(hello.ServerName), a.hosts)
	}
	_, addresses := divide(a.hosts)
	texts := make([]string, len(addresses))
	for i, ip := range addresses {
		texts[i] = ip.String()
	}
	reached := ""
	if hello.Conn != nil {
		reached = reachedAt(hello.Conn)
	}
	return oneOf(spell(reached), texts)
}

// oneOf returns the host alone, or all hosts if it is not one of them. In that case the client's
// TLS library shows the user the names that exist.
func oneOf(host string, all []string) []string {
	if slices.Contains(all, host) {
		return []string{host}
	}
	return all
}
