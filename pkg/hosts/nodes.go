package hosts

import (
	"fmt"
	"net/netip"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
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

// Nodes joins the wanted nodes with their assigned hosts and addresses, in the order of the assignment. A missing address, or one that two of the hosts
// have, is an *AddressError.
func Nodes(request contract.Request, all []Host, assigned Assignment) ([]contract.Node, error) {
	byName := map[string]Host{}
	for _, host := range all {
		byName[host.Name] = host
	}
	var nodes []contract.Node
	taken := map[netip.Addr]string{}
	for _, p := range assigned {
		host := byName[p.Host]
		address := host.Address(p.MAC, request.Access)
		if !address.IsValid() {
			return nil, &AddressError{p.Node, p.Host, "has no IP address in its hardware facts: inspect it again, or give its HardwareData the address"}
		}
		if other, dup := taken[address]; dup {
			return nil, &AddressError{p.Node, p.Host, fmt.Sprintf("has the address %s, which host %s has too: correct the hardware facts of one", address, other)}
		}
		taken[address] = p.Host
		nodes = append(nodes, contract.Node{
			Name: p.Node, Roles: p.Roles, Host: host.Name, HostUID: host.UID, Address: address.String(), Set: p.Set, Standby: p.Standby,
		})
	}
	return nodes, nil
}
