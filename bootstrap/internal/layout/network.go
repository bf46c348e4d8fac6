package layout

import (
	"net/netip"
	"slices"
)

const (
	NodeName  = "bootstrap"
	Bridge    = "bpa0"
	BridgeMAC = "02:60:0a:3c:00:01" // fixed, because a bridge otherwise takes the address of a port, which can change
	// DepotProbe is for health probes of the supervisor only, so that clients of the other
	// listeners cannot use up its connections.
	DepotProbe = "127.0.0.1:5081"
	// DepotLocal accepts writes with the token in DepotToken. The machine uses it to fill the depot
	// before an API server runs that could check other tokens.
	DepotLocal = "127.0.0.1:5000"
)

// Ports of what the machine serves.
const (
	DepotPort     = "5000" // HTTP, read only; image references have it
	DepotTLSPort  = "5443" // HTTPS, for reads, and for writes with a token
	APIServerPort = "6443"
)

// Network has the ranges of the machine, and its links to the networks of the site. Package site reads it from a file.
type Network struct {
	// Pods is the range of the bridge. Its first address is that of the node, the gateway of pods and the address at
	// which the depot and the API server listen.
	Pods     netip.Prefix
	Services netip.Prefix
	// Site is the link to the servers. Without one, servers are on the bridge, as those of the lab.
	Site Link
	// BMC is the link to the BMCs of servers, for a Metal3 that runs on the machine.
	BMC Link
	// Names are names of the machine on the link Site.
	Names []string
	// ServeAPI says that the API server of the machine can be reached at the address of the link Site.
	ServeAPI bool
}

// Link is an interface of the machine, which the system of the machine configures.
type Link struct {
	Interface string         // empty: there is no link
	Address   netip.Addr     // of the machine, for those who reach it by this link; may be invalid
	Networks  []netip.Prefix // to which pods may send by this interface
}

// DefaultNetwork is the network of a machine without a site file. Its ranges do not overlap with the ranges of
// application clusters (10.244.0.0/16 in ICN, 10.233.0.0/16 in kubespray).
func DefaultNetwork() Network {
	return Network{Pods: netip.MustParsePrefix("10.60.0.0/24"), Services: netip.MustParsePrefix("10.61.0.0/16")}
}

// nth returns an address of a range: 1 is the first one that a machine can have.
func nth(p netip.Prefix, n int) netip.Addr {
	addr := p.Masked().Addr()
	for range n {
		addr = addr.Next()
	}
	return addr
}

// NodeIP is the address of the node on the bridge.
func (n Network) NodeIP() string { return nth(n.Pods, 1).String() }

// NodeCIDR is NodeIP with the length of its range.
func (n Network) NodeCIDR() string { return netip.PrefixFrom(nth(n.Pods, 1), n.Pods.Bits()).String() }

// PodFirst is the first address that a pod gets. Those between it and the node are for servers of tests.
func (n Network) PodFirst() string { return nth(n.Pods, 10).String() }

// ServiceIP is the address of Service kubernetes.default.
func (n Network) ServiceIP() string { return nth(n.Services, 1).String() }

// DNSIP is the address of the Service of CoreDNS.
func (n Network) DNSIP() string { return nth(n.Services, 10).String() }

// Depot is where the depot serves HTTP, read only. References of images start with it.
func (n Network) Depot() string { return n.NodeIP() + ":" + DepotPort }

// DepotTLS is where the depot serves HTTPS.
func (n Network) DepotTLS() string { return n.NodeIP() + ":" + DepotTLSPort }

// APIServer is the address of the API server.
func (n Network) APIServer() string { return "https://" + n.NodeIP() + ":" + APIServerPort }

// DepotForServers is the host at which servers reach the depot.
func (n Network) DepotForServers() string {
	if n.Site.Address.IsValid() {
		return n.Site.Address.String()
	}
	return n.NodeIP()
}

// Served are the ports that can be reached at the address of the link Site.
func (n Network) Served() []string {
	switch {
	case !n.Site.Address.IsValid():
		return nil
	case n.ServeAPI:
		return []string{DepotPort, DepotTLSPort, APIServerPort}
	}
	return []string{DepotPort, DepotTLSPort}
}

// Hosts are the names and addresses by which others than pods reach the machine.
func (n Network) Hosts() []string {
	if !n.Site.Address.IsValid() {
		return nil
	}
	return append([]string{n.Site.Address.String()}, n.Names...)
}

// Links returns the links that exist.
func (n Network) Links() []Link {
	return slices.DeleteFunc([]Link{n.Site, n.BMC}, func(l Link) bool { return l.Interface == "" })
}
