package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

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
	in.CgroupV1 = text(r, "kubelet_fail_cgroup_v1", "true") == "false"
	in.NoLocalDNS = text(r, "enable_nodelocaldns", "true") == "false"
	in.APIPort, _ = strconv.Atoi(strings.Trim(string(variable(r, "kube_apiserver_port")), `"`)) // 0: it is not set, or no number
	if r.API.Balanced() {
		if _, err := netip.ParseAddr(r.API.Address); err != nil {
			in.APIName = r.API.Address
		}
	}
	in.Eviction = eviction(r)
	in.Accepted = accepted(r)
	in.PodSubnets = subnets(r, r.PodSubnet, "kube_pods_subnet")
	in.ServiceSubnets = subnets(r, r.ServiceSubnet, "kube_service_addresses")
	return in
}

// subnets returns the ranges of both families: those of the spec, unless variables of kubespray have others.
func subnets(r contract.Request, spec, name string) (all []string) {
	first, second := contract.Families(spec)
	for _, cidr := range []string{text(r, name, first), text(r, name+"_ipv6", second)} {
		if cidr != "" {
			all = append(all, cidr)
		}
	}
	return all
}

// eviction returns kubespray's eviction_hard.
func eviction(r contract.Request) map[string]string {
	var values map[string]any
	if json.Unmarshal(variable(r, "eviction_hard"), &values) != nil || len(values) == 0 {
		return nil
	}
	limits := map[string]string{}
	for signal, value := range values {
		limits[signal] = fmt.Sprint(value)
	}
	return limits
}

// accepted returns the checks whose failure the user accepts by variables of kubespray.
func accepted(r contract.Request) []string {
	var ids []string
	var ignored []string
	_ = json.Unmarshal(variable(r, "kubeadm_ignore_preflight_errors"), &ignored) // another value accepts nothing
	if slices.Contains(ignored, "NumCPU") || slices.Contains(ignored, "all") {
		ids = append(ids, "cpus")
	}
	if slices.Contains(ignored, "Mem") || slices.Contains(ignored, "all") || text(r, "ignore_assert_errors", "false") == "true" {
		ids = append(ids, "memory")
	}
	for _, name := range []string{"nameservers", "upstream_dns_servers"} {
		var servers []string
		if json.Unmarshal(variable(r, name), &servers) == nil && len(servers) > 0 {
			return append(ids, "resolver", "resolver-loop")
		}
	}
	return ids
}

// NodeOf returns a node of a run. member reports that the cluster is on it already.
func NodeOf(n contract.Node, member bool) Node {
	return Node{Name: n.Name, Address: n.Address, Roles: n.Roles, MACs: n.MACs, Member: member}
}

// variable returns a variable of the user, or of a plugin; nil: it is not set.
func variable(r contract.Request, name string) json.RawMessage {
	if raw, set := r.Vars[name]; set {
		return raw
	}
	return r.PluginVars[name]
}

// text returns a text or a truth value as a text, or else the other one. Ansible takes True and yes for true, too.
func text(r contract.Request, name, other string) string {
	var value any
	if json.Unmarshal(variable(r, name), &value) != nil {
		return other
	}
	switch v := value.(type) {
	case string:
		switch strings.ToLower(v) {
		case "true", "yes", "on":
			return "true"
		case "false", "no", "off":
			return "false"
		}
		return cmp.Or(v, other)
	case bool:
		return strconv.FormatBool(v)
	}
	return other
}
