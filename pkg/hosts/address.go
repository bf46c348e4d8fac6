package hosts

import (
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// Address is where the host is reached: by the NIC with the given MAC, else the boot NIC, else the first NIC that has an address. Of a NIC
// with several addresses IPv4 comes first. It is the zero Addr if there is none.
func (h Host) Address(mac string, _ contract.Access) netip.Addr {
	for _, want := range []func(NIC) bool{
		func(n NIC) bool { return mac != "" && n.MAC == mac },
		func(n NIC) bool { return n.Boot },
		func(NIC) bool { return true },
	} {
		for _, nic := range h.NICs {
			if ip := nic.address(); want(nic) && ip.IsValid() {
				return ip
			}
		}
	}
	return netip.Addr{}
}

func (n NIC) address() netip.Addr {
	if i := slices.IndexFunc(n.IPs, netip.Addr.Is4); i >= 0 {
		return n.IPs[i]
	}
	if len(n.IPs) > 0 {
		return n.IPs[0]
	}
	return netip.Addr{}
}
