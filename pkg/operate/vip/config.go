package vip

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// device stands for the interface that has the address of the node, which only the machine knows.
const device = "@DEVICE@"

// config returns the configuration of keepalived on node n. planes are all control planes, with n.
//
// No machine prefers to have the address (nopreempt), so that it moves only if it must. The priorities differ, so that of two
// machines that see its loss at the same time only one takes it. While etcd has no leader, no API server answers /livez: the fast
// check leaves etcd out, so that the address stays through an election, and the slow one finds a machine without etcd. Version 3 has no passwords, which version 2 sends in clear
// text. A machine takes the address after 3 advertisements of half a second are missing, or at once when its holder gives it up.
func config(api *contract.API, n contract.Node, planes []contract.Node) (string, error) {
	own, err := ipv4(n)
	if err != nil {
		return "", err
	}
	address, err := netip.ParseAddr(api.Address)
	if err != nil || !address.Is4() {
		return "", fmt.Errorf("the address %q of the API servers is no IPv4 address", api.Address)
	}
	all := []netip.Addr{own}
	for _, p := range planes {
		ip, err := ipv4(p)
		if err != nil {
			return "", err
		}
		all = append(all, ip)
	}
	slices.SortFunc(all, netip.Addr.Compare)
	all = slices.Compact(all)
	if slices.Contains(all, address) {
		return "", fmt.Errorf("the address %s of the API servers is that of a control plane: it must be one that no machine has", address)
	}
	var peers strings.Builder
	for _, ip := range all {
		if ip != own {
			fmt.Fprintf(&peers, "    %s\n", ip)
		}
	}
	// Without a peer, keepalived would use multicast, which others on the network hear. What it sends to the address stays on
	// the machine, because it sends only while it has the address.
	if peers.Len() == 0 {
		fmt.Fprintf(&peers, "    %s\n", address)
	}
	return fmt.Sprintf(text, api.Port, routerID(address), 200-slices.Index(all, own), own, peers.String(), address), nil
}

// routerID returns the last byte of the address, 1 to 255. Peers get packets by unicast and accept those of their peers only,
// so that a router of the site or another cluster with the same number disturbs nobody.
func routerID(address netip.Addr) int { return cmp.Or(int(address.As4()[3]), 255) }

func ipv4(n contract.Node) (netip.Addr, error) {
	ip, err := netip.ParseAddr(n.Address)
	if err != nil || !ip.Unmap().Is4() {
		return ip, fmt.Errorf("node %s has the address %q, but an address of the API servers that moves needs IPv4", n.Name, n.Address)
	}
	return ip.Unmap(), nil
}

const text = `# Written by BPA.
global_defs {
  enable_script_security
  script_user root
  vrrp_version 3
  vrrp_garp_master_refresh 10
}
vrrp_script api {
  script "/usr/bin/curl -ksf -o /dev/null -m 1 https://127.0.0.1:%[1]d/livez?exclude=etcd"
  interval 1
  timeout 2
  fall 2
  rise 1
  init_fail
}
vrrp_script etcd {
  script "/usr/bin/curl -ksf -o /dev/null -m 4 https://127.0.0.1:%[1]d/livez"
  interval 2
  timeout 5
  fall 8
  rise 1
  init_fail
}
vrrp_instance api {
  state BACKUP
  nopreempt
  interface ` + device + `
  virtual_router_id %[2]d
  priority %[3]d
  advert_int 0.5
  check_unicast_src
  unicast_src_ip %[4]s
  unicast_peer {
%[5]s  }
  virtual_ipaddress {
    %[6]s/32 dev ` + device + `
  }
  track_script {
    api
    etcd
  }
}
`
