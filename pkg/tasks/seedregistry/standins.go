package seedregistry

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
)

// usualArchitecture is the assumed architecture of hosts if the request does not name one.
const usualArchitecture = "x86_64"

// standIn is a host in the inventory that represents all nodes with the same roles, architecture and
// variables. The playbooks need hosts, but no host is claimed at this time. One stand-in is
// enough for these nodes, because they need the same artifacts.
type standIn struct {
	contract.Node
	architecture string // Ansible's name: x86_64, aarch64
	vars         map[string]json.RawMessage
}

// standIns returns one stand-in for each combination of roles, architecture and variables in the request. Of several
// with the same roles and architecture, those with variables of nodes have a number in their names.
func standIns(request contract.Request) ([]standIn, error) {
	var all []standIn
	known := map[string]bool{}
	add := func(roles []string, architecture string, vars map[string]json.RawMessage) {
		if architecture == "" {
			architecture = usualArchitecture
		}
		name := strings.ReplaceAll(strings.Join(append(slices.Clone(roles), architecture), "-"), "_", "-")
		settings := request.SettingsWith(vars)
		if known[name+" "+settings] {
			return
		}
		known[name+" "+settings] = true
		if settings != request.Settings() {
			name = fmt.Sprintf("%s-%d", name, len(all))
		}
		all = append(all, standIn{contract.Node{Name: name, Roles: roles}, architecture, vars})
	}
	for _, s := range request.Slots {
		add(s.Roles, s.Architecture, s.Vars)
	}
	for _, s := range request.Sets {
		add(s.Roles, s.Architecture, s.Vars)
	}
	pods, pods6 := contract.Families(request.PodSubnet)
	services, services6 := contract.Families(request.ServiceSubnet)
	subnet, err := unused(documentation, pods, services)
	if err != nil {
		return nil, err
	}
	subnet6, err := unused(documentation6, pods6, services6)
	if err != nil {
		return nil, err
	}
	address, address6 := subnet.Addr(), subnet6.Addr()
	for n := range all {
		address, address6 = address.Next(), address6.Next()
		all[n].Address = address.String()
		if pods6 != "" {
			all[n].Address6 = address6.String()
		}
	}
	return all, nil
}

// documentation and documentation6 are subnets for documentation, which no real host uses (RFC 5737 and RFC 3849).
var (
	documentation  = []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"}
	documentation6 = []string{"2001:db8:1::/64", "2001:db8:2::/64", "2001:db8:3::/64"}
)

// unused returns one of the candidates that overlaps none of the subnets in taken.
func unused(candidates []string, taken ...string) (netip.Prefix, error) {
	for _, text := range candidates {
		candidate := netip.MustParsePrefix(text)
		if !slices.ContainsFunc(taken, func(t string) bool {
			p, err := netip.ParsePrefix(t)
			return err == nil && p.Overlaps(candidate)
		}) {
			return candidate, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("the subnets %v overlap all subnets for documentation (RFC 5737, RFC 3849), and one of those must be free: choose smaller subnets", taken)
}

// facts returns, as JSON, those facts of the stand-in on which the lists depend. Ansible would
// gather them from a real host.
func (s standIn) facts(system System) ([]byte, error) {
	facts := map[string]string{
		"ansible_architecture": s.architecture, "ansible_system": "Linux", "main_ip": s.Address, "main_access_ip": s.Address,
	}
	maps.Copy(facts, system.facts())
	return json.Marshal(facts)
}

// render renders the inventory of the request with stand-ins as its nodes.
func render(request contract.Request, nodes []standIn) (inventory.Inventory, error) {
	plain := make([]contract.Node, len(nodes))
	request.Slots, request.Sets = nil, nil // they have other names
	for n, s := range nodes {
		plain[n] = s.Node
		request.Slots = append(request.Slots, contract.Slot{Name: s.Name, Roles: s.Roles, Vars: s.vars})
	}
	return inventory.Render(request, plain)
}
