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

// usualArchitecture is that of hosts of which the request does not say it.
const usualArchitecture = "x86_64"

// standIn takes the place of all nodes with the same roles and architecture: they need the same things, and there is no host yet.
type standIn struct {
	contract.Node
	architecture string // as Ansible calls it: x86_64, aarch64
}

// standIns are one for each kind of node in the request.
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

// unused is a subnet that no host can be in: one of those for documentation (RFC 5737) that is none of the given.
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
	return netip.Prefix{}, fmt.Errorf("the subnets %v leave no address of RFC 5737 for a stand-in: choose smaller ones", taken)
}

// facts are what Ansible would find out on a host, as far as lists depend on it.
func (s standIn) facts(system System) ([]byte, error) {
	facts := map[string]string{
		"ansible_architecture": s.architecture, "ansible_system": "Linux", "main_ip": s.Address, "main_access_ip": s.Address,
	}
	maps.Copy(facts, system.facts())
	return json.Marshal(facts)
}

// render makes the inventory that a run would get, with stand-ins for its nodes.
func render(request contract.Request, nodes []standIn) (inventory.Inventory, error) {
	plain := make([]contract.Node, len(nodes))
	for n, s := range nodes {
		plain[n] = s.Node
	}
	return inventory.Render(request, plain)
}
