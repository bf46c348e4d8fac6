package site

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// reader collects what is wrong in a file.
type reader struct{ findings []error }

func (r *reader) wrong(at yaml.Node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if at.Line > 0 {
		text = fmt.Sprintf("line %d: %s", at.Line, text)
	}
	r.findings = append(r.findings, fmt.Errorf("%s", text)) //nolint:err113 // it is a text for people
}

// prefix reads a network, whose address must be its first one.
func (r *reader) prefix(at yaml.Node, name string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(at.Value)
	switch {
	case err != nil:
		r.wrong(at, "%s is %q: want a network, such as 192.0.2.0/24", name, at.Value)
	case !p.Addr().Is4():
		r.wrong(at, "%s is %s: want a network of IPv4, because the pods of this machine have IPv4 addresses", name, p)
	case p.Masked() != p:
		r.wrong(at, "%s is %s: the network of this address is %s", name, p, p.Masked())
	default:
		return p, true
	}
	return netip.Prefix{}, false
}

// rangeOf reads a range of the machine, whose length is between two limits.
func (r *reader) rangeOf(at yaml.Node, name string, otherwise netip.Prefix, shortest, longest int) netip.Prefix {
	if at.Kind == 0 { // the file does not have it
		return otherwise
	}
	p, ok := r.prefix(at, name)
	if ok && (p.Bits() < shortest || p.Bits() > longest) {
		r.wrong(at, "%s is %s: want a length between /%d and /%d", name, p, shortest, longest)
		ok = false
	}
	if !ok {
		return otherwise
	}
	return p
}

func (r *reader) networksOf(nodes []yaml.Node, name, of string) (networks []netip.Prefix) {
	if len(nodes) == 0 {
		r.wrong(yaml.Node{}, "%s is missing: name the networks of %s", name, of)
	}
	for _, node := range nodes {
		if p, ok := r.prefix(node, name); ok {
			networks = append(networks, p)
		}
	}
	return networks
}

func (r *reader) addressOf(at yaml.Node, name string) netip.Addr {
	addr, err := netip.ParseAddr(at.Value)
	switch {
	case at.Value == "":
		r.wrong(at, "%s is missing: it is the address of this machine at which servers find the depot", name)
	case err != nil || !addr.Is4() || addr.IsUnspecified() || addr.IsLoopback() || addr.IsMulticast():
		r.wrong(at, "%s is %q: want the IPv4 address of this machine on its link to the servers, such as 192.0.2.10", name, at.Value)
		return netip.Addr{}
	}
	return addr
}

// interfaceName is what Linux accepts and needs no quotes in a rule of nftables.
var interfaceName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,15}$`)

func (r *reader) interfaceOf(at yaml.Node, name string) string {
	switch {
	case at.Value == "":
		r.wrong(at, "%s is missing: it is the name of an interface, such as eno1 (see `ip link`)", name)
	case !interfaceName.MatchString(at.Value):
		r.wrong(at, "%s is %q: want the name of an interface of at most 15 characters (see `ip link`)", name, at.Value)
	case at.Value == layout.Bridge || at.Value == "lo":
		r.wrong(at, "%s is %s, which belongs to this machine alone: want its interface to the site", name, at.Value)
	default:
		return at.Value
	}
	return ""
}

var dnsName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

func (r *reader) nameOf(at yaml.Node) string {
	if !dnsName.MatchString(at.Value) || len(at.Value) > 253 || strings.Trim(at.Value, "0123456789.") == "" {
		r.wrong(at, "site.names has %q: want names in DNS in small letters, such as depot.example.org", at.Value)
	}
	return at.Value
}

// apart checks that no two of the ranges overlap.
func (r *reader) apart(n layout.Network, f file) {
	if n.Pods.Overlaps(n.Services) {
		r.wrong(first(f.Services, f.Pods), "pods (%s) and services (%s) overlap", n.Pods, n.Services)
	}
	for _, own := range []struct {
		name string
		p    netip.Prefix
		at   yaml.Node
	}{{"pods", n.Pods, f.Pods}, {"services", n.Services, f.Services}} {
		for _, l := range []struct {
			name string
			layout.Link
		}{{"site.servers", n.Site}, {"bmc.networks", n.BMC}} {
			for _, to := range l.Networks {
				if to.Bits() > 0 && own.p.Overlaps(to) {
					r.wrong(own.at, "%s (%s) and %s (%s) overlap: choose another range for %[1]s", own.name, own.p, l.name, to)
				}
			}
		}
		if n.Site.Address.IsValid() && own.p.Contains(n.Site.Address) {
			r.wrong(f.Site.Address, "site.address is %s, which is in %s (%s): want the address on the link to the servers", n.Site.Address, own.name, own.p)
		}
	}
}

// first returns the first node that the file has.
func first(nodes ...yaml.Node) yaml.Node {
	for _, node := range nodes {
		if node.Line > 0 {
			return node
		}
	}
	return yaml.Node{}
}
