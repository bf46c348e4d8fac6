package hosts

import (
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// These reasons explain why a host has no address. They complete "host-1 is ..." and
// "3 hosts: 2 ...".
const (
	noAddressAtAll = "without an IP address"
	tooMany        = "without a unique IP address (several network cards have one)"
	severalOnData  = "without a unique IP address (the network data have several)"
	unread         = "without its network data, which are not read yet"
	unreadable     = "without readable network data"
)

// Addresses returns the addresses at which a host is reached. If the host has addresses of both
// families, second is the address of the other family; otherwise it is the zero Addr. If there is
// no first address, why is the reason, in words that complete "host-1 is ...".
//
// mac is the MAC address to which the slot is pinned, or empty. The network card with this address
// is the pinned card. These rules are tried in this order until one gives an address:
//
//  1. The pinned card.
//  2. The network or link with the id access.Interface in the host's network data. If
//     access.Interface is set and this rule gives no address, the host has none.
//  3. An address in access.Subnets[0]. The boot card is searched first, then the other cards, and
//     then the network data. If access.Subnets is set and no card is pinned, no address outside of
//     this subnet is used, not even one from rule 2.
//  4. The boot card.
//  5. The network data. If they have addresses for the pinned card, these are used. Otherwise, the
//     only address of each family is used. If the data have several of one family, the host has no
//     address.
//  6. The only card that has addresses.
//
// If NetworkDataFirst is set, the network data are used before the addresses that were seen on the
// cards. They are searched in this order: the addresses of the pinned card, rule 2,
// access.Subnets[0], and rule 5. If the data have several addresses, rule 5 then uses those of the
// boot card. If the data cannot be read, the host has no address. If the data have no address,
// because the host uses DHCP, or no address in the subnet, the numbered rules apply.
//
// IPv4 comes before IPv6, unless access.Subnets has another order. The second address normally
// comes from the same card or network as the first. If access.Subnets[1] is set, the second address
// is in that subnet, and a host without such an address has no address at all. There is one
// exception: if a card is pinned and the host has no address in that subnet, the second address
// comes from the same card or network as the first.
func (h *Host) Addresses(mac string, access contract.Access) (first, second netip.Addr, why string) {
	addresses, why := h.choose(mac, access)
	if why != "" {
		return first, second, why
	}
	first = preferred(addresses)
	if len(access.Subnets) > 0 {
		if i := slices.IndexFunc(addresses, inside(access.Subnets[0])); i >= 0 {
			first = addresses[i]
		} else if mac == "" {
			return netip.Addr{}, netip.Addr{}, noAddressAtAll + " in " + access.Subnets[0]
		}
	}
	if len(access.Subnets) > 1 {
		if second = h.within(access.Subnets[1], addresses); second.IsValid() && second.Is4() != first.Is4() {
			return first, second, ""
		}
		if mac == "" {
			return netip.Addr{}, netip.Addr{}, h.orUnread(noAddressAtAll + " in " + access.Subnets[1])
		}
	}
	if i := slices.IndexFunc(addresses, func(a netip.Addr) bool { return a.Is4() != first.Is4() }); i >= 0 {
		return first, addresses[i], ""
	}
	return first, netip.Addr{}, ""
}

// Address returns the first address of Addresses, or the zero Addr if there is none.
func (h *Host) Address(mac string, access contract.Access) netip.Addr {
	first, _, _ := h.Addresses(mac, access)
	return first
}

// WantsNetworkData reports whether the host's network data must be read to find its address.
func (h *Host) WantsNetworkData(mac string, access contract.Access) bool {
	_, _, why := h.Addresses(mac, access)
	return why == unread
}

// Unreachable explains why a host has no address for a node, in words that complete "host-1 is
// ...". The result is empty if the host has an address. It is also empty if the host may still get
// an address, because its network data have not been read yet, or because it gets its address
// together with its operating system.
func (h *Host) Unreachable(mac string, request *contract.Request) string {
	if h.AddressedLater(request) {
		return ""
	}
	_, _, why := h.Addresses(mac, request.Access)
	if why == unread {
		return ""
	}
	return why
}

// AddressedLater reports whether the host gets its address only with its operating system, from the
// network data of the request's OS image.
func (h *Host) AddressedLater(request *contract.Request) bool {
	return h.Bare && request.OSImage != nil && request.OSImage.NetworkData != ""
}

// choose applies the rules of Addresses that select a card or network, and returns its addresses.
func (h *Host) choose(mac string, access contract.Access) (addresses []netip.Addr, why string) {
	if h.NetworkDataFirst {
		if addresses, why := h.chooseData(mac, access); why != "" || len(addresses) > 0 {
			return addresses, why
		}
	}
	if pinned := h.onCard(mac); len(pinned) > 0 {
		return pinned, ""
	}
	if access.Interface != "" {
		return h.onNetwork(access.Interface)
	}
	if len(access.Subnets) > 0 {
		if near := h.withNeighbours(access.Subnets[0]); len(near) > 0 {
			return near, ""
		}
		if mac == "" {
			return nil, h.orUnread(noAddressAtAll + " in " + access.Subnets[0])
		}
	}
	if boot := h.onBootCard(); len(boot) > 0 {
		return boot, ""
	}
	if pinned := h.onData(mac); len(pinned) > 0 {
		return pinned, ""
	}
	if h.NetworkUnread || len(h.NetworkData) > 0 {
		return h.onNetwork("")
	}
	return h.onOnlyCard()
}

// onCard returns the addresses that Metal3 saw on a card.
func (h *Host) onCard(mac string) []netip.Addr {
	for i := range h.NICs {
		if mac != "" && h.NICs[i].MAC == mac {
			return h.NICs[i].IPs
		}
	}
	return nil
}

// onData returns the addresses that the network data assign to a card.
func (h *Host) onData(mac string) []netip.Addr {
	var found []netip.Addr
	for _, n := range h.NetworkData {
		if mac != "" && n.MAC == mac {
			found = append(found, n.IP)
		}
	}
	return found
}

// onBootCard returns the addresses of the boot card. This is the card with the host's boot MAC
// address, which is the first of MACs. If there is no such card, it is the first card that Metal3
// marks as bootable.
func (h *Host) onBootCard() []netip.Addr {
	var found []netip.Addr
	for i := range h.NICs {
		switch n := &h.NICs[i]; {
		case !n.Boot || len(n.IPs) == 0:
		case len(h.MACs) > 0 && n.MAC == h.MACs[0]:
			return n.IPs
		case found == nil:
			found = n.IPs
		}
	}
	return found
}

// onNetwork returns the addresses that the network data assign to the network or link with this id,
// at most one of each family. An empty id stands for all networks.
func (h *Host) onNetwork(id string) (addresses []netip.Addr, why string) {
	if h.NetworkUnread {
		return nil, unread
	}
	for _, n := range h.NetworkData {
		if id != "" && n.Network != id && n.Link != id {
			continue
		}
		if slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a != n.IP && a.Is4() == n.IP.Is4() }) {
			return nil, severalOnData
		}
		addresses = append(addresses, n.IP)
	}
	switch {
	case len(addresses) > 0:
		return addresses, ""
	case id == "":
		return nil, noAddressAtAll
	}
	return nil, noAddressAtAll + " on " + id + " in the network data"
}

// onOnlyCard returns the addresses of the only card that has addresses.
func (h *Host) onOnlyCard() (addresses []netip.Addr, why string) {
	why = noAddressAtAll
	for i := range h.NICs {
		switch ips := h.NICs[i].IPs; {
		case !slices.ContainsFunc(ips, func(a netip.Addr) bool { return !slices.Contains(addresses, a) }): // the card has no address, or only those of another card of its bond
		case addresses != nil:
			return nil, tooMany
		default:
			addresses, why = ips, ""
		}
	}
	return addresses, why
}

// withNeighbours returns all addresses of the first card that has an address in the subnet. The
// boot card is checked first. If no card has such an address, it returns the first address in the
// subnet that the network data contain. If NetworkDataFirst is set, the network data are checked
// before the cards.
func (h *Host) withNeighbours(subnet string) []netip.Addr {
	in := inside(subnet)
	if found := h.inData(in); h.NetworkDataFirst && len(found) > 0 {
		return found
	}
	if boot := h.onBootCard(); slices.ContainsFunc(boot, in) {
		return boot
	}
	for i := range h.NICs {
		if slices.ContainsFunc(h.NICs[i].IPs, in) {
			return h.NICs[i].IPs
		}
	}
	return h.inData(in)
}

// within returns an address in a subnet: one of candidates if possible, or else any address of the
// host. It returns the zero Addr if there is none.
func (h *Host) within(subnet string, candidates []netip.Addr) netip.Addr {
	in := inside(subnet)
	if i := slices.IndexFunc(candidates, in); i >= 0 {
		return candidates[i]
	}
	near := h.withNeighbours(subnet)
	if i := slices.IndexFunc(near, in); i >= 0 {
		return near[i]
	}
	return netip.Addr{}
}

// orUnread returns the given reason unchanged if there are no unread network data. If the host's
// network data have not been read yet, it returns the reason unread instead, because these data may
// contain an address.
func (h *Host) orUnread(why string) string {
	if h.NetworkUnread {
		return unread
	}
	return why
}

// inside returns a function that reports whether an address is in the subnet. An invalid subnet,
// which the webhook rejects, contains no address.
func inside(subnet string) func(netip.Addr) bool {
	prefix, err := netip.ParsePrefix(subnet)
	return func(a netip.Addr) bool { return err == nil && prefix.Contains(a) }
}

// preferred returns the first IPv4 address, or the first address if there is no IPv4 address.
func preferred(addresses []netip.Addr) netip.Addr {
	return addresses[max(0, slices.IndexFunc(addresses, netip.Addr.Is4))]
}

// Remedy describes what a user can do if a host has no address. The parameter why is the reason
// that Addresses returned.
func Remedy(access contract.Access, why string) string {
	switch {
	case why == unreadable:
		return "correct the Secret that the host names in spec.networkData or else in spec.preprovisioningNetworkDataName"
	case access.Interface != "":
		return "correct spec.access.interface, or the Secret with the host's network data"
	case why == severalOnData:
		return "name the network in spec.access.interface, or its subnet in spec.access.subnets"
	case why == tooMany:
		return "name the subnet of the nodes in spec.access.subnets"
	case len(access.Subnets) > 0:
		return "correct spec.access.subnets, or the host's addresses"
	}
	return "inspect the host again, or add the address to its HardwareData"
}
