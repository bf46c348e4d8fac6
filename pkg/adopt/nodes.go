package adopt

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// sorted returns the nodes in the order of a record: control planes first, in the order of the numbers of their members
// of etcd. Kubespray works through the first of them.
func sorted(c Cluster) []Node {
	nodes := slices.Clone(c.Nodes)
	slices.SortFunc(nodes, func(a, b Node) int {
		if isPlane(a.Roles) != isPlane(b.Roles) {
			if isPlane(a.Roles) {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(etcdPlace(c, a), etcdPlace(c, b)), a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return nodes
}

// etcdPlace is the number of the node's member of etcd. Nodes without one come last.
func etcdPlace(c Cluster, n Node) int {
	const last = 1 << 30
	return cmp.Or(numberOf(memberOf(c, n)), last)
}

// memberOf returns the name of the member of etcd on a control plane; empty: it has none.
func memberOf(c Cluster, n Node) string {
	if i := slices.IndexFunc(c.Members, func(m Member) bool { return m.at(n.Addresses) }); i >= 0 && isPlane(n.Roles) {
		return c.Members[i].Name
	}
	return ""
}

// numberOf returns the number in kubespray's default name of a member of etcd, such as etcd3; 0: it has another name.
func numberOf(member string) int {
	digits, found := strings.CutPrefix(member, "etcd")
	number, err := strconv.ParseUint(digits, 10, 31)
	if !found || err != nil {
		return 0
	}
	return int(number)
}

// makeNode returns the node of a record. Its address is the first one that the cluster knows.
func makeNode(c Cluster, n Node, s Server) contract.Node {
	node := contract.Node{Name: n.Name, Roles: n.Roles, Host: s.Host.Name, HostUID: s.Host.UID, MACs: s.Host.MACs, Version: n.Version, Etcd: memberOf(c, n)}
	for _, text := range n.Addresses {
		ip, err := netip.ParseAddr(text)
		switch {
		case err != nil:
		case node.Address == "":
			node.Address = ip.String()
		case node.Address6 == "" && ip.Is6() && !strings.Contains(node.Address, ":"):
			node.Address6 = ip.String()
		}
	}
	return node
}

// derive returns a Provisioning that describes the cluster: each node is pinned to its host.
func derive(in Input, nodes []contract.Node) *v1alpha1.Provisioning {
	p := &v1alpha1.Provisioning{}
	p.Namespace, p.Name = in.User.Namespace, in.User.Name
	p.Spec.SSH = in.SSH
	p.Spec.PodSubnet = in.Cluster.PodSubnet
	p.Spec.Kubernetes = v1alpha1.KubernetesSpec{Version: in.Cluster.Version, ServiceSubnet: in.Cluster.ServiceSubnet, NetworkPlugin: in.Cluster.NetworkPlugin}
	p.Spec.Kubernetes.API = balancerOf(in.Cluster)
	const usual = "cluster.local"
	for name, value := range map[string]string{"cluster_name": in.Cluster.Name, "dns_domain": in.Cluster.DNSDomain} {
		if value != "" && value != usual {
			if p.Spec.Kubespray.Vars == nil {
				p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{}
			}
			raw, _ := json.Marshal(value) // a string can always be encoded
			p.Spec.Kubespray.Vars[name] = apiextensionsv1.JSON{Raw: raw}
		}
	}
	workers := slices.ContainsFunc(nodes, func(n contract.Node) bool { return !isPlane(n.Roles) })
	for _, n := range nodes {
		mac := pin(in.Servers, n)
		if isPlane(n.Roles) {
			p.Spec.Masters = append(p.Spec.Masters, map[string]v1alpha1.Master{n.Name: {MACAddress: mac}})
		}
		if !isPlane(n.Roles) || workers && slices.Contains(n.Roles, contract.RoleWorker) {
			p.Spec.Workers = append(p.Spec.Workers, map[string]v1alpha1.Worker{n.Name: {MACAddress: mac}})
		}
	}
	return p
}

// pin returns the MAC address to which a node is pinned: that of the card with its address, so that BPA reaches it
// there, or else the first one; nil: the host has none.
func pin(servers []Server, n contract.Node) *v1alpha1.MAC {
	i := slices.IndexFunc(servers, func(s Server) bool { return s.Host.UID == n.HostUID && s.Host.Name == n.Host })
	h := servers[i].Host
	at := func(nic hosts.NIC) bool {
		return slices.ContainsFunc(nic.IPs, func(ip netip.Addr) bool { return ip.String() == n.Address })
	}
	if j := slices.IndexFunc(h.NICs, at); j >= 0 {
		return new(v1alpha1.MAC(h.NICs[j].MAC))
	}
	if len(h.MACs) == 0 {
		return nil
	}
	return new(v1alpha1.MAC(h.MACs[0]))
}
