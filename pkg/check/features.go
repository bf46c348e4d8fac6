package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// feature is a module of the kernel with its option. instead are modules of which each one will do too.
type feature struct {
	module, option string
	instead        []string
}

var (
	overlay   = feature{module: "overlay", option: "OVERLAY_FS"}
	veth      = feature{module: "veth", option: "VETH"}
	bridgeNF  = feature{module: "br_netfilter", option: "BRIDGE_NETFILTER"}
	conntrack = feature{module: "nf_conntrack", option: "NF_CONNTRACK"}
	dummy     = feature{module: "dummy", option: "DUMMY"}
	vxlan     = feature{module: "vxlan", option: "VXLAN"}
	ipSet     = feature{module: "ip_set", option: "IP_SET"}
	hashIP    = feature{module: "ip_set_hash_ip", option: "IP_SET_HASH_IP"}
	hashNet   = feature{module: "ip_set_hash_net", option: "IP_SET_HASH_NET"}
	matchSet  = feature{module: "xt_set", option: "NETFILTER_XT_SET"}
	nfTables  = feature{module: "nf_tables", option: "NF_TABLES"}
	nftCompat = feature{module: "nft_compat", option: "NFT_COMPAT"}
	ipvs      = []feature{{module: "ip_vs", option: "IP_VS"}, {module: "ip_vs_rr", option: "IP_VS_RR"}, {module: "ip_vs_wrr", option: "IP_VS_WRR"}, {module: "ip_vs_sh", option: "IP_VS_SH"}}
	// iptables are what kube-proxy, the kubelet and plugins use of iptables, with either backend.
	iptables = []feature{
		{module: "ip_tables", option: "IP_NF_IPTABLES", instead: []string{nftCompat.module}}, nftCompat,
		{module: "xt_comment", option: "NETFILTER_XT_MATCH_COMMENT"}, {module: "xt_conntrack", option: "NETFILTER_XT_MATCH_CONNTRACK"},
		{module: "xt_addrtype", option: "NETFILTER_XT_MATCH_ADDRTYPE"}, {module: "xt_mark", option: "NETFILTER_XT_MARK"},
		{module: "xt_statistic", option: "NETFILTER_XT_MATCH_STATISTIC"}, {module: "xt_MASQUERADE", option: "NETFILTER_XT_TARGET_MASQUERADE"},
	}
	bpf = []feature{{module: "bpf", option: "BPF_SYSCALL"}, {module: "cgroup_bpf", option: "CGROUP_BPF"}, {module: "cls_bpf", option: "NET_CLS_BPF"}, {module: "sch_ingress", option: "NET_SCH_INGRESS"}}
)

// optional are asked for, because they replace others, and are not required themselves.
var optional = []string{nftCompat.module}

// features returns what the kernel of a node needs. Kubespray's default of kube_proxy_mode is ipvs; its local cache of names
// uses a dummy device.
func (in Input) features() []feature {
	all := slices.Concat([]feature{overlay, veth, conntrack, bridgeNF}, iptables)
	if !in.NoLocalDNS {
		all = append(all, dummy)
	}
	switch in.ProxyMode {
	case "ipvs":
		all = slices.Concat(all, ipvs, []feature{ipSet, hashIP, matchSet})
	case "nftables":
		all = append(all, nfTables)
	}
	switch in.NetworkPlugin {
	case "flannel":
		all = append(all, vxlan)
	case "calico":
		all = append(all, vxlan, ipSet, hashIP, hashNet, matchSet)
	case "cilium":
		all = slices.Concat(all, []feature{vxlan}, bpf)
	case "kube-router":
		all = slices.Concat(all, ipvs, []feature{ipSet, hashIP, hashNet, matchSet, {module: "ipip", option: "NET_IPIP"}})
	case "kube-ovn":
		all = append(all, feature{module: "openvswitch", option: "OPENVSWITCH"}, feature{module: "geneve", option: "GENEVE"}, ipSet, hashIP, hashNet, matchSet)
	case "macvlan":
		all = append(all, feature{module: "macvlan", option: "MACVLAN"})
	}
	var once []feature
	for _, f := range all {
		if !slices.ContainsFunc(once, func(o feature) bool { return o.module == f.module }) {
			once = append(once, f)
		}
	}
	return once
}

func kernelFeatures(w *world) {
	needed := w.in.features()
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		var missing, unclear []string
		for _, need := range needed {
			has := f.Features[need.module]
			other := slices.ContainsFunc(need.instead, func(name string) bool { return f.Features[name].Has == "yes" })
			switch {
			case has.Has == "yes" || other || slices.Contains(optional, need.module):
			case has.Has == "no":
				missing = append(missing, fmt.Sprintf("%s (%s)", need.module, has.How))
			default:
				unclear = append(unclear, need.module)
			}
		}
		if len(missing) > 0 {
			fail("its kernel " + f.Kernel + " lacks " + strings.Join(missing, ", "))
		}
		if len(unclear) > 0 {
			unknown("neither the configuration of its kernel nor an attempt says whether it has " + strings.Join(unclear, ", "))
		}
	})
}

func kernelVersion(w *world) {
	need, why := [2]int{4, 19}, "Kubernetes"
	raise := func(major, minor int, of string) {
		if major > need[0] || major == need[0] && minor > need[1] {
			need, why = [2]int{major, minor}, of
		}
	}
	if w.in.ProxyMode == "nftables" {
		raise(5, 13, "kube_proxy_mode nftables")
	}
	if w.in.NetworkPlugin == "cilium" {
		raise(5, 10, "cilium")
	}
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		var major, minor int
		if n, _ := fmt.Sscanf(f.Kernel, "%d.%d", &major, &minor); n != 2 {
			unknown("its kernel names no version: " + f.Kernel)
		} else if major < need[0] || major == need[0] && minor < need[1] {
			fail(fmt.Sprintf("its kernel is %s; %s needs %d.%d", f.Kernel, why, need[0], need[1]))
		}
	})
}

// port is a port of a cluster.
type port struct {
	number   int
	protocol string
	of       string
	role     string // of the nodes that have it; empty: all
	from     string // role of the nodes that connect to it; empty: all
	// local: other nodes do not connect to it.
	local bool
	// any: only a program that uses the port at all addresses is in the way.
	any bool
}

// ports returns the ports of the cluster. A node that is no control plane has the proxy to the API servers at their port.
func (in Input) ports() []port {
	api := cmp.Or(in.APIPort, 6443)
	all := []port{
		{number: api, protocol: "tcp", of: "the API server", role: contract.RoleControlPlane},
		{number: api, protocol: "tcp", of: "the proxy to the API server", local: true},
		{number: 2379, protocol: "tcp", of: "etcd", role: contract.RoleControlPlane, from: contract.RoleControlPlane},
		{number: 2380, protocol: "tcp", of: "etcd", role: contract.RoleControlPlane, from: contract.RoleControlPlane},
		{number: 10257, protocol: "tcp", of: "the controller manager", role: contract.RoleControlPlane, local: true},
		{number: 10259, protocol: "tcp", of: "the scheduler", role: contract.RoleControlPlane, local: true},
		{number: 10250, protocol: "tcp", of: "the kubelet"},
		{number: 10248, protocol: "tcp", of: "the kubelet", local: true},
		{number: 10249, protocol: "tcp", of: "kube-proxy", local: true},
		{number: 10256, protocol: "tcp", of: "kube-proxy", local: true},
	}
	if !in.NoLocalDNS {
		all = append(all,
			port{number: 9254, protocol: "tcp", of: "the local cache of names", local: true, any: true},
			port{number: 53, protocol: "tcp", of: "the local cache of names", local: true, any: true},
			port{number: 53, protocol: "udp", of: "the local cache of names", local: true, any: true})
	}
	switch in.NetworkPlugin {
	case "flannel":
		all = append(all, port{number: 8472, protocol: "udp", of: "flannel"})
	case "calico":
		all = append(all, port{number: 4789, protocol: "udp", of: "calico"}, port{number: 9099, protocol: "tcp", of: "calico", local: true})
	case "cilium":
		all = append(all, port{number: 8472, protocol: "udp", of: "cilium"}, port{number: 4240, protocol: "tcp", of: "cilium"}, port{number: 9879, protocol: "tcp", of: "cilium", local: true})
	case "kube-router":
		all = append(all, port{number: 179, protocol: "tcp", of: "kube-router"})
	case "kube-ovn":
		all = append(all, port{number: 6081, protocol: "udp", of: "kube-ovn"}, port{number: 6641, protocol: "tcp", of: "kube-ovn", role: contract.RoleControlPlane}, port{number: 6642, protocol: "tcp", of: "kube-ovn", role: contract.RoleControlPlane})
	}
	return all
}

// on reports whether a node may have the port.
func (p port) on(n Node) bool { return p.role == "" || n.may(p.role) }

// reached reports whether one node connects to the port on another one.
func (p port) reached(from, to Node) bool {
	return !p.local && p.on(to) && (p.from == "" || from.may(p.from))
}
