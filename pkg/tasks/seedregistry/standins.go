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

// usualArchitecture is the architecture of hosts if the request does not name one.
const usualArchitecture = "x86_64"

// standIn is an inventory host that represents all nodes with the same roles and architecture.
// These nodes need the same artifacts, and no host is claimed for them yet.
type standIn struct {
	contract.Node
	architecture string // Ansible's name: x86_64, aarch64
}

// standIns returns a stand-in for each kind of node in the request.
func standIns(request contract.Request) ([]standIn, error) {
	var all []standIn
	add := func(roles []string, architecture string) {
		if architecture == "" {
			architecture = usualArchitecture
		}
		name := strings.ReplaceAll(strings.Join(append(slices.Clone(roles), architecture), "-"), "_", "-")
		same := func(s standIn) bool { return s.Name == name }
		if !slices.ContainsFunc(all, same) {
			all = append(all, standIn{contract.Node{Name: name, Roles: roles}, architecture})
		}
	}
	for _, s := range request.Slots {
		add(s.Roles, s.Architecture)
	}
	for _, s := range request.Sets {
		add(s.Roles, s.Architecture)
	}
	subnet, err := unused(request.PodSubnet, request.ServiceSubnet)
	if err != nil {
		return nil, err
	}
	address := subnet.Addr()
	for n := range all {
		address = address.Next()
		all[n].Address = address.String()
	}
	return all, nil
}

// unused returns a subnet that no host can use: a subnet for documentation (RFC 5737) that does not
// overlap the given ones.
func unused(taken ...string) (netip.Prefix, error) {
	for _, text := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"} {
		candidate := netip.MustParsePrefix(text)
		if !slices.ContainsFunc(taken, func(t string) bool {
			p, err := netip.ParsePrefix(t)
			return err == nil && p.Overlaps(candidate)
		}) {
			return candidate, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("the subnets %v overlap all documentation subnets of RFC 5737, and one of those must be free: choose smaller subnets", taken)
}

// facts returns the facts of a host that the lists depend on, as JSON. On a real host Ansible would
// gather them.
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
	for n, s := range nodes {
		plain[n] = s.Node
	}
	return inventory.Render(request, plain)
}
