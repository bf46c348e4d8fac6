package plan

import (
	"net/netip"
	"net/url"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// MoveEndpoint returns the address of the control plane that the kubeconfig must name instead of the
// present one; empty: the kubeconfig stays as it is. It moves away from a control plane that is lost,
// that is leaving the cluster, or that has left it. It does not move back, and it keeps an address
// that is not that of a node, because a load balancer of the user may have it.
func (s Seen) MoveEndpoint() string {
	if s.Kubeconfig == nil || s.Kubeconfig.Broken != "" || s.Memory == nil || s.Deleting || s.Memory.Request.ExternalEndpoint() {
		return ""
	}
	server, err := url.Parse(s.Kubeconfig.Endpoint)
	if err != nil {
		return ""
	}
	present, err := netip.ParseAddr(server.Hostname())
	if err != nil {
		return ""
	}
	at := func(n contract.Node) bool { return isAt(n, present) }
	alive := s.livingControlPlanes()
	known := slices.Concat(s.Memory.Nodes, s.Nodes, s.Started.Members)
	if len(alive) == 0 || slices.ContainsFunc(alive, at) || !slices.ContainsFunc(known, at) {
		return ""
	}
	return alive[0].Address
}

// livingControlPlanes returns the control planes of the record that have their hosts and that stay in
// the cluster, those without a problem first.
func (s Seen) livingControlPlanes() []contract.Node {
	lost := s.lostControlPlanes()
	alive := slices.DeleteFunc(slices.Clone(s.Memory.Nodes), func(n contract.Node) bool {
		_, err := netip.ParseAddr(n.Address)
		return !controlPlane(n) || err != nil || s.removes(n) || slices.ContainsFunc(lost, func(l Loss) bool { return l.Node.Name == n.Name })
	})
	slices.SortStableFunc(alive, func(a, b contract.Node) int {
		return oneIf(s.Site[a.Host].Trouble != "") - oneIf(s.Site[b.Host].Trouble != "")
	})
	return alive
}

// LivingControlPlanes returns the names of the control planes of the record that have their hosts.
func (s Seen) LivingControlPlanes() (names []string) {
	lost := s.lostControlPlanes()
	for _, n := range s.members() {
		if controlPlane(n) && !slices.ContainsFunc(lost, func(l Loss) bool { return l.Node.Name == n.Name }) {
			names = append(names, n.Name)
		}
	}
	return names
}

func isAt(n contract.Node, address netip.Addr) bool {
	a, err := netip.ParseAddr(n.Address)
	return err == nil && a == address
}
