package tlscert

import (
	"crypto/tls"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
)

// own are the machine's names for itself. They are always served, so that no authority is without a name and an address to be kept to.
var own = []string{"localhost", "127.0.0.1", "::1"}

// hostName is a DNS name; a wildcard or a leading dot would mean more hosts than one in a constraint, or none.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// longestName is DNS's.
const longestName = 253

// spelled are the hosts in one order and one spelling, with the machine's own.
func spelled(hosts []string) ([]string, error) {
	all := slices.Clone(own)
	for _, host := range hosts {
		host = spell(host)
		if host == "" {
			continue
		}
		if net.ParseIP(host) == nil && (len(host) > longestName || !hostName.MatchString(host)) {
			return nil, fmt.Errorf("%q is neither a host's name nor an address: give --host what clients write in their URLs, without port or wildcard", host)
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

// askedFor are the hosts that a client's certificate is to name: as few as can be told, since a client that trusts an earlier certificate of
// the authority refuses any that names a host which that one does not permit. A client that names nobody reached us by an address: by which,
// the connection knows, unless it was translated on the way.
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
		reached, _, _ = net.SplitHostPort(hello.Conn.LocalAddr().String())
	}
	return oneOf(spell(reached), texts)
}

// oneOf gives all if the host is none of them: such a client is told by its library which names there are.
func oneOf(host string, all []string) []string {
	if slices.Contains(all, host) {
		return []string{host}
	}
	return all
}
