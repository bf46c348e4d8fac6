package check

import (
	"cmp"
	"encoding/json"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// defaultProxyMode is that of kubespray.
const defaultProxyMode = "ipvs"

// InputOf returns what the cluster of a request needs, for these nodes. Variables whose values are in Secrets count as
// not set.
func InputOf(r contract.Request, nodes []Node) Input {
	in := Input{
		Nodes: nodes, KubernetesVersion: text(r, "kube_version", r.KubernetesVersion), NetworkPlugin: text(r, "kube_network_plugin", r.NetworkPlugin),
		ProxyMode: text(r, "kube_proxy_mode", defaultProxyMode), OperatingSystem: r.OperatingSystem, Depot: Depot{URL: r.DepotURL, CA: r.DepotCA},
	}
	if text(r, "kube_proxy_remove", "false") == "true" {
		in.ProxyMode = ""
	}
	for _, cidr := range []string{text(r, "kube_pods_subnet", r.PodSubnet), text(r, "kube_pods_subnet_ipv6", "")} {
		if cidr != "" {
			in.PodSubnets = append(in.PodSubnets, cidr)
		}
	}
	for _, cidr := range []string{text(r, "kube_service_addresses", r.ServiceSubnet), text(r, "kube_service_addresses_ipv6", "")} {
		if cidr != "" {
			in.ServiceSubnets = append(in.ServiceSubnets, cidr)
		}
	}
	return in
}

// NodeOf returns a node of a run. member reports that the cluster is on it already.
func NodeOf(n contract.Node, member bool) Node {
	return Node{Name: n.Name, Address: n.Address, Roles: n.Roles, MACs: n.MACs, Member: member}
}

// text returns a variable of the user, or of a plugin, or else the other value.
func text(r contract.Request, name, other string) string {
	for _, vars := range []map[string]json.RawMessage{r.Vars, r.PluginVars} {
		var value any
		if raw, set := vars[name]; set && json.Unmarshal(raw, &value) == nil {
			switch v := value.(type) {
			case string:
				return cmp.Or(v, other)
			case bool:
				if v {
					return "true"
				}
				return "false"
			}
		}
	}
	return other
}
