package assign

import (
	"fmt"
	"net/netip"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// AddressError reports a chosen host that has no address, or an address that another host also has.
type AddressError struct {
	Node string
	Host string
	Why  string // completes "host-1, chosen for worker-1, ..."
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("host %s, chosen for %s, %s", e.Host, e.Node, e.Why)
}

// Nodes returns the assigned nodes with their hosts and addresses, in the order of the assignment.
//
// A missing address is an *AddressError. Two kinds of nodes may be without an address: standby
// nodes, and nodes on hosts that get their address together with the operating system. The address
// that such a host had during its inspection is not used.
//
// A duplicate address is also an *AddressError. There are two cases: two chosen hosts have the same
// address, or a newly chosen host has the address of a held host that is not chosen.
func Nodes(request contract.Request, all []hosts.Host, assigned Assignment) ([]contract.Node, error) {
	byName := map[string]*hosts.Host{}
	for i := range all {
		byName[all[i].Name] = &all[i]
	}
	taken := takenAddresses(all, assigned, request.Access)
	var nodes []contract.Node
	for _, p := range assigned {
		host := byName[p.Host]
		node := contract.Node{Name: p.Node, Roles: p.Roles, Host: host.Name, HostUID: host.UID, Set: p.Set, Standby: p.Standby, MACs: host.MACs}
		first, second, why := host.Addresses(p.MAC, request.Access)
		switch other := taken[first]; {
		case host.AddressedLater(&request), why != "" && p.Standby:
		case why != "":
			return nil, &AddressError{p.Node, p.Host, "is " + why + ": " + hosts.Remedy(request.Access, why)}
		case other.by != "" && (other.chosen || host.Holder == nil):
			return nil, &AddressError{p.Node, p.Host, fmt.Sprintf("has the same address %s as host %s: correct the hardware facts of one of them", first, other.by)}
		default:
			node.Address, taken[first] = first.String(), addressOwner{host.Name, true}
			if first.Is4() && second.IsValid() {
				node.Address6 = second.String()
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// addressOwner is the host that has an address. chosen reports whether the host is in the
// assignment. If not, the host is held.
type addressOwner struct {
	by     string
	chosen bool
}

// takenAddresses returns the addresses of the held hosts that are not in the assignment.
func takenAddresses(all []hosts.Host, assigned Assignment, access contract.Access) map[netip.Addr]addressOwner {
	chosen := map[string]bool{}
	for _, p := range assigned {
		chosen[p.Host] = true
	}
	taken := map[netip.Addr]addressOwner{}
	for i := range all {
		if h := &all[i]; !chosen[h.Name] && h.Holder != nil && !h.Bare {
			if address := h.Address("", access); address.IsValid() {
				taken[address] = addressOwner{by: h.Name}
			}
		}
	}
	return taken
}
