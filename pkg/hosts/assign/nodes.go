package assign

import (
	"fmt"
	"net/netip"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// AddressError is the error of a host that cannot be reached for sure.
type AddressError struct {
	Node string
	Host string
	Why  string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("host %s, chosen for %s, %s", e.Host, e.Node, e.Why)
}

// Nodes joins the wanted nodes with their assigned hosts and addresses, in the order of the assignment. Missing addresses are an *AddressError, but not
// of standby nodes, nor of hosts that will get their address with their operating system: those have none yet, whatever their inspection's was. So is an address that two of the hosts have, or a new
// one of them and a host that is not among them.
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
			return nil, &AddressError{p.Node, p.Host, fmt.Sprintf("has the address %s, which host %s has too: correct the hardware facts of one", first, other.by)}
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

// addressOwner is who has an address: a host that is chosen too, or one that is held and is not.
type addressOwner struct {
	by     string
	chosen bool
}

// takenAddresses are those of the hosts that are held and not chosen.
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
