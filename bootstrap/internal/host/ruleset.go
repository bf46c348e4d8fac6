package host

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// table is the name of our table of nftables.
const table = "bpa"

// ruleset returns our table of nftables, and the name of an empty chain in it, which differs for each table.
//
// From outside, nothing reaches the addresses of the bridge or of services: neither a pod, nor what listens on the
// bridge, such as the API server and the kubelet. An interface accepts packets for each address of a machine, so a route
// is enough to reach them. What the machine serves at its address on the link to the servers is rewritten to the bridge.
// Pods send to the networks of the links with the address of the machine, and nowhere else. The machine is no router
// between the links. The chains see packets before kube-proxy and other programs rewrite them (prerouting), and after
// that (forward). A packet passes only if each table accepts it.
func ruleset(n layout.Network) (rules, version string) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	own := n.Pods.String() + ", " + n.Services.String()
	line("table inet %s {", table)
	line("	chain prerouting {")
	line("		type filter hook prerouting priority mangle; policy accept;")
	line("		iifname != { \"lo\", %q } ip daddr { %s } counter drop", layout.Bridge, own)
	line("	}")
	line("	chain forward {")
	line("		type filter hook forward priority filter - 10; policy accept;")
	line("		iifname %q oifname %[1]q accept", layout.Bridge)
	line("		iifname %q jump egress", layout.Bridge)
	line("		oifname %q ct state != { established, related } counter drop", layout.Bridge)
	if links := interfaces(n); links != "" {
		line("		iifname { %s } oifname { %[1]s } counter drop", links)
	}
	line("	}")
	line("	chain egress {")
	line("		ct state { established, related } accept")
	for _, l := range n.Links() {
		for _, to := range l.Networks {
			line("		oifname %q ip daddr %s accept", l.Interface, to)
		}
	}
	line("		counter drop")
	line("	}")
	line("	chain postrouting {") // what the machine itself sends to services while the route to the bridge is gone
	line("		type filter hook postrouting priority mangle; policy accept;")
	line("		oifname != { \"lo\", %q } ip daddr { %s } counter drop", layout.Bridge, own)
	line("	}")
	if served := n.Served(); len(served) > 0 {
		to := fmt.Sprintf("ip daddr %s tcp dport { %s } dnat ip to %s", n.Site.Address, strings.Join(served, ", "), n.NodeIP())
		from := fmt.Sprintf("iifname { %q, %q } ", n.Site.Interface, layout.Bridge)
		line("	chain served {")
		line("		type nat hook prerouting priority dstnat - 5; policy accept;")
		line("		%s", from+to)
		line("	}")
		line("	chain served_here {")
		line("		type nat hook output priority -105; policy accept;")
		line("		%s", to)
		line("	}")
	}
	if links := interfaces(n); links != "" {
		line("	chain source {")
		line("		type nat hook postrouting priority srcnat - 5; policy accept;")
		line("		oifname { %s } ip saddr %s masquerade", links, n.Pods)
		line("	}")
	}
	version = fmt.Sprintf("version_%x", sha256.Sum256([]byte(b.String())))[:24]
	line("	chain %s { }", version)
	line("}")
	return b.String(), version
}

// interfaces returns the quoted names of the interfaces of the links.
func interfaces(n layout.Network) string {
	var names []string
	seen := map[string]bool{}
	for _, l := range n.Links() {
		if !seen[l.Interface] {
			names, seen[l.Interface] = append(names, fmt.Sprintf("%q", l.Interface)), true
		}
	}
	return strings.Join(names, ", ")
}

// Flows says in words which traffic between pods, the machine and the networks of the site the firewall lets pass.
func Flows(n layout.Network) []string {
	flows := []string{fmt.Sprintf("pods (%s) and services (%s) of the machine reach each other", n.Pods, n.Services)}
	for _, l := range []struct {
		layout.Link
		who string
	}{{n.Site, "servers"}, {n.BMC, "BMCs"}} {
		for _, to := range l.Networks {
			flows = append(flows, fmt.Sprintf("pods send to %s in %s by %s, with the address of the machine", l.who, to, l.Interface))
		}
	}
	if served := n.Served(); len(served) > 0 {
		text := fmt.Sprintf("the depot is served at %s, ports %s and %s", n.Site.Address, layout.DepotPort, layout.DepotTLSPort)
		if n.ServeAPI {
			text += fmt.Sprintf(", and the API server at port %s", layout.APIServerPort)
		}
		flows = append(flows, text)
	}
	return append(flows, "nothing else from outside reaches a pod, a service or a component of the machine, and nothing is forwarded between the networks of the site")
}
