package plan

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	sitehosts "github.com/akraino-icn/bpa/pkg/hosts"
)

// ClaimedNodes returns the nodes of hosts as the labels of their claims describe them, sorted by name.
func ClaimedNodes(held []sitehosts.Host, access contract.Access) []contract.Node {
	var nodes []contract.Node
	for _, h := range held {
		if h.Node == "" {
			continue
		}
		n := ClaimedNode(h, access)
		n.Set, n.Standby = h.Set, h.Standby
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b contract.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// ClaimedNode returns the node of a claimed host, which may have left the cluster. Its node set is not known.
func ClaimedNode(h sitehosts.Host, access contract.Access) contract.Node {
	n := contract.Node{Name: cmp.Or(h.Node, h.Labels[contract.LabelFormerNode], h.Name), Host: h.Name, HostUID: h.UID, MACs: h.MACs}
	for _, role := range []string{contract.RoleControlPlane, contract.RoleWorker} {
		if h.Labels[contract.LabelRolePrefix+role] != "" {
			n.Roles = append(n.Roles, role)
		}
	}
	if len(n.Roles) == 0 {
		n.Roles = []string{contract.RoleWorker}
	}
	if ip := h.Address("", access); ip != (netip.Addr{}) {
		n.Address = ip.String()
	}
	return n
}

// Relist completes the record of an installed cluster that lacks the claimed nodes: it was lost and rebuilt, or a build of
// BPA from before commit "the record has the nodes that select-hosts has claimed" has written it. The next run with
// select-hosts stores them. Until then they are the members, and the other nodes as their claims describe them.
func (s *Seen) Relist(held []contract.Node) {
	if s.Nodes != nil || s.Memory == nil || !s.Complete() {
		return
	}
	s.Relisted = true
	others := slices.DeleteFunc(slices.Clone(held), func(n contract.Node) bool { return s.isMember(n.Host) })
	for _, n := range s.Memory.Nodes {
		if !slices.ContainsFunc(others, func(o contract.Node) bool { return o.Name == n.Name }) {
			n.Etcd, n.Version, n.Settings, n.Patched, n.Target = "", "", "", "", nil // only members have them
			s.Nodes = append(s.Nodes, n)
		}
	}
	s.Nodes = append(s.Nodes, others...)
}
