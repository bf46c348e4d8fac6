package hosts

import (
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// chooseData finds the addresses that the network data assign to the relevant card or network. If
// the data have no address, or none in the subnet, it returns neither addresses nor a reason. The
// caller can then use addresses that Metal3 saw on the cards, for example from DHCP.
func (h *Host) chooseData(mac string, access contract.Access) (addresses []netip.Addr, why string) {
	switch {
	case h.NetworkUnread:
		return nil, unread
	case h.NetworkUnreadable:
		return nil, unreadable
	case len(h.NetworkData) == 0:
		return nil, ""
	}
	if pinned := h.onData(mac); len(pinned) > 0 {
		return pinned, ""
	}
	switch {
	case access.Interface != "":
		return h.onNetwork(access.Interface)
	case len(access.Subnets) > 0:
		return h.inData(inside(access.Subnets[0])), ""
	case len(h.MACs) > 0:
		if boot := h.onData(h.MACs[0]); len(boot) > 0 && oneOfFamily(boot) {
			return boot, ""
		}
	}
	return h.onNetwork("")
}

// inData returns the first address of the network data that the function in accepts, and no further
// address. It returns nil if there is none.
func (h *Host) inData(in func(netip.Addr) bool) []netip.Addr {
	for _, n := range h.NetworkData {
		if in(n.IP) {
			return []netip.Addr{n.IP}
		}
	}
	return nil
}

// oneOfFamily reports whether no two different addresses have the same family.
func oneOfFamily(addresses []netip.Addr) bool {
	for _, a := range addresses {
		if slices.ContainsFunc(addresses, func(b netip.Addr) bool { return a != b && a.Is4() == b.Is4() }) {
			return false
		}
	}
	return true
}
