package site

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Print returns the file that describes a network, with all fields and what they are for.
func Print(n layout.Network) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Ranges of this machine's own Kubernetes. They cannot change while the machine exists.")
	line("pods: %s", n.Pods)
	line("services: %s", n.Services)
	line("# The link to the servers. Without it, servers are on the bridge of this machine, as in the lab.")
	s := n.Site
	comment := ""
	if s.Interface == "" {
		comment = "# "
		s = layout.Link{Interface: "eno1", Address: netip.MustParseAddr("192.0.2.10"), Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	}
	line("%ssite:", comment)
	line("%s  interface: %s", comment, s.Interface)
	line("%s  address: %s      # at which servers find the depot; the system of this machine configures it", comment, s.Address)
	line("%s  servers: %s  # networks to which pods send, with the address of this machine", comment, list(s.Networks))
	line("%s  names: [%s]               # names of this machine, for its certificates", comment, strings.Join(n.Names, ", "))
	line("%s  apiServer: %t         # true: the API server of this machine answers at this address too", comment, n.ServeAPI)
	line("# The link to the BMCs of servers, for a Metal3 on this machine. It may be the same interface.")
	b2 := n.BMC
	comment = ""
	if b2.Interface == "" {
		comment = "# "
		b2 = layout.Link{Interface: "eno2", Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}}
	}
	line("%sbmc:", comment)
	line("%s  interface: %s", comment, b2.Interface)
	line("%s  networks: %s", comment, list(b2.Networks))
	return b.String()
}

func list(networks []netip.Prefix) string {
	texts := make([]string, len(networks))
	for i, p := range networks {
		texts[i] = p.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
