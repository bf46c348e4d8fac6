package check

import (
	_ "embed" // for the script
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
)

//go:embed scripts/probe.sh
var probe string

// Command is the command that reads a script from its standard input: as root if the user is root or may become root
// without a password, otherwise as the user.
const Command = `sh -c 'if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then exec sudo -n sh -s "$SSH_CONNECTION"; else exec sh -s "$SSH_CONNECTION"; fi'`

// room is what is written to a path.
type room struct {
	path, of string
	need     int64  // in bytes, for a cluster in use
	least    int64  // in bytes, what an installation writes; 0: need
	role     string // empty: all nodes
	exec     bool   // programs are started there
}

const gib = 1 << 30

// etcdDir is kubespray's default of etcd_data_dir.
const etcdDir = "/var/lib/etcd"

// rooms returns where a cluster, or the bootstrap machine, writes.
func (in Input) rooms() []room {
	if in.Machine {
		return []room{{path: "/var/lib/bpa", of: "BPA and its depot", need: 20 * gib, exec: true}, {path: "/tmp", of: "temporary files", need: gib}}
	}
	return []room{
		{path: "/var/lib/containerd", of: "containerd", need: 10 * gib, least: 2 * gib, exec: true},
		{path: etcdDir, of: "etcd", need: 4 * gib, least: gib / 2, role: contract.RoleControlPlane},
		{path: "/var/lib/kubelet", of: "the kubelet", need: gib, least: gib / 8, exec: true},
		{path: "/tmp/releases", of: "the downloads of kubespray", need: 2 * gib, least: gib / 2},
		{path: "/usr/local/bin", of: "the programs of kubespray", need: gib, least: gib / 2, exec: true},
		{path: "/opt/cni", of: "the programs of the network plugin", need: gib / 4, least: gib / 8, exec: true},
		{path: "/etc/kubernetes", of: "the configuration", need: gib / 64},
		{path: "/var/log", of: "logs", need: gib, least: gib / 8},
	}
}

// Nodes up to this number are all compared with each other. Of more, each one is compared with its neighbours in a ring,
// and with the first control planes.
const (
	mostPairs  = 20
	mostPlanes = 5
)

// peers returns the nodes whose network is tried from node i: ring are those for the sizes of packets, all also those
// for ports.
func (in Input) peers(i int) (ring, all []Node) {
	n := len(in.Nodes)
	usable := func(j int) bool {
		_, err := netip.ParseAddr(in.Nodes[j].Address)
		return j != i && err == nil && in.Nodes[j].Address != in.Nodes[i].Address
	}
	planes := 0
	for j, node := range in.Nodes {
		if !usable(j) {
			continue
		}
		switch near := j == (i+1)%n || j == (i+n-1)%n; {
		case n <= mostPairs || near:
			ring, all = append(ring, node), append(all, node)
		case slices.Contains(node.Roles, contract.RoleControlPlane) && planes < mostPlanes:
			all = append(all, node)
		}
		if slices.Contains(node.Roles, contract.RoleControlPlane) {
			planes++
		}
	}
	return ring, all
}

// Script returns the probe for node i. Command runs it.
func Script(in Input, i int) string {
	var paths, tcp, udp, features, options, pings, knocks []string
	for _, r := range in.rooms() {
		paths = append(paths, r.path)
	}
	etcd := etcdDir
	if in.Machine {
		etcd = in.rooms()[0].path
	} else {
		for _, p := range in.ports() {
			hex := fmt.Sprintf("%04X", p.number)
			if p.protocol == "tcp" && !slices.Contains(tcp, hex) {
				tcp = append(tcp, hex)
			} else if p.protocol == "udp" && !slices.Contains(udp, hex) {
				udp = append(udp, hex)
			}
		}
		for _, f := range in.features() {
			features, options = append(features, f.module+":"+f.option), append(options, f.option)
		}
	}
	ring, all := in.peers(i)
	for _, n := range ring {
		pings = append(pings, n.Address)
	}
	for _, n := range all {
		for _, p := range in.ports() {
			if p.reached(in.Nodes[i], n) {
				knocks = append(knocks, fmt.Sprintf("%s/%s/%d", n.Address, p.protocol, p.number))
			}
		}
	}
	back := "yes"
	if in.Run { // the address of a pod says nothing about the machine
		back = ""
	}
	url, ca := in.download()
	var b strings.Builder
	for _, set := range []struct{ name, value string }{
		{"paths", strings.Join(paths, " ")}, {"etcd_dir", etcd}, {"tcp_ports", strings.Join(tcp, " ")}, {"udp_ports", strings.Join(udp, " ")},
		{"features", strings.Join(features, " ")}, {"options", "(" + strings.Join(options, "|") + ")"}, {"ping_back", back}, {"pings", strings.Join(pings, " ")},
		{"knocks", strings.Join(knocks, " ")}, {"depot_url", url}, {"depot_ca", ca}, {"api_name", in.APIName},
	} {
		fmt.Fprintf(&b, "%s=%s\n", set.name, quoted(set.value))
	}
	return b.String() + "identity() {\n" + machine.IdentityScript + "\n}\n" + probe
}

// download returns the address of the folder with the kubelet of each architecture, and the CA. The beginning of this file is
// downloaded, because each node downloads it anyway.
func (in Input) download() (url, ca string) {
	if in.Depot.URL == "" {
		return "", ""
	}
	return strings.TrimRight(in.Depot.URL, "/") + "/files/dl.k8s.io/release/v" + in.KubernetesVersion + "/bin/linux", strings.TrimSpace(in.Depot.CA)
}

// quoted returns a text as one word of a POSIX shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
