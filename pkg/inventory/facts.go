package inventory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Conditions on kubespray's variables, as in the role network_facts of v2.31.0. Ansible evaluates
// them with the inventory's variables only, so they contain the defaults of kubespray's roles.
const (
	hasIPv4 = `ipv4_stack | default(true) | bool`
	hasIPv6 = `ipv6_stack | default(enable_dual_stack_networks | default(false)) | bool`
)

// Facts returns, as JSON, variables of a node that kubespray otherwise reads from the node itself.
// With them, a playbook can be limited to other nodes and does not connect to this one: kubespray
// refuses --limit if it does not know the addresses of all nodes, and new nodes need the addresses
// of the control planes and of etcd. They must not be set for a node on which the playbook runs.
func Facts(node contract.Node) ([]byte, error) {
	first, err := ipOf(node.Address)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	second, err := ipOf(cmp.Or(node.Address6, node.Address))
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.Name, err)
	}
	vars, ipv6 := map[string]any{}, "::1" // kubespray's default, if the node has no IPv6 address
	for _, ip := range []netip.Addr{first, second} {
		if ip.Is4() {
			vars["ansible_default_ipv4"] = map[string]string{"address": ip.String()}
		} else {
			vars["ansible_default_ipv6"], ipv6 = map[string]string{"address": ip.String()}, ip.String()
		}
	}
	one := fmt.Sprintf("{{ '%s' if %s else '%s' }}", first, hasIPv4, ipv6)
	all := fmt.Sprintf("{{ (['%s'] if %s else []) + (['%s'] if %s else []) }}", first, hasIPv4, ipv6, hasIPv6)
	vars["main_ip"], vars["main_access_ip"], vars["main_ips"], vars["main_access_ips"] = one, one, all, all
	if isMaster(node) { // kubespray writes both names into the certificates of all API servers
		vars["ansible_hostname"], vars["ansible_fqdn"] = node.Name, node.Name
	}
	if node.Etcd != "" { // a joining member of etcd connects to those that are members already
		vars["etcd_member_in_cluster"] = map[string]int{"rc": 0}
	}
	return json.MarshalIndent(vars, "", "  ")
}

// ipOf parses an IP address. The result is safe to write into a template.
func ipOf(text string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return ip, fmt.Errorf("%q is not an IP address", text)
	}
	return ip.Unmap(), nil
}
