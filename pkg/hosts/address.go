package hosts

import (
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Why a host has no address, in words that complete "host-1 is ..." and "3 hosts: 2 ...".
const (
	noAddressAtAll = "without an IP address"
	tooMany        = "with IP addresses on several network cards and no subnet to choose by"
	severalOnData  = "with several addresses in its network data and no interface to choose by"
	unread         = "with network data that nobody read"
	unreadable     = "with network data that are missing or cannot be read"
)

// Addresses are those by which a host is reached: the first one, and the one of the other family if it has both, else the zero Addr. If there is
// no first one, why says so in words that complete "host-1 is ...". The first rule that gives an address decides:
//
//  1. the network card with the given MAC address, which a slot is pinned to, if it has one;
//  2. the network or link of the host's network data that access.Interface names: without it there is no address;
//  3. an address in access.Subnets[0], of the boot card, of another card, or of the network data; without one, and with one elsewhere by rule 2, there
//     is none, unless a card is pinned;
//  4. the boot card;
//  5. the network data: of the pinned card, or if they give but one address of a family;
//  6. the only card that has addresses.
//
// For a host with NetworkDataFirst the network data come before what was seen on the cards: under rule 1 those of the pinned card, then rule 2, under rule 3
// those in the subnet, then rule 5, in which those of the boot card count among several. If the data cannot be read, there is no address. If they give
// none, since the host uses DHCP, or none in the subnet, the rules are as above.
//
// IPv4 comes before IPv6, unless access.Subnets says otherwise. The second address is in access.Subnets[1], and must be, if that is given and no card
// is pinned; else it is of the same card or network.
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

// Address is the first of the Addresses.
func (h *Host) Address(mac string, access contract.Access) netip.Addr {
	first, _, _ := h.Addresses(mac, access)
	return first
}

// WantsNetworkData reports whether it depends on the host's network data, which nobody has read, what its address is.
func (h *Host) WantsNetworkData(mac string, access contract.Access) bool {
	_, _, why := h.Addresses(mac, access)
	return why == unread
}

// Unreachable is why a host can have no address for a node, in words that complete "host-1 is ..."; empty if it has one, or may have: from network data
// that are not read yet, or that it is given with its operating system.
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

// AddressedLater: the host has no operating system, and the request's image brings the network data that will give it its address.
func (h *Host) AddressedLater(request *contract.Request) bool {
	return h.Bare && request.OSImage != nil && request.OSImage.NetworkData != ""
}

// choose finds the addresses of the card or network that counts.
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

// onCard are the addresses of a card, as Metal3 saw them.
func (h *Host) onCard(mac string) []netip.Addr {
	for i := range h.NICs {
		if mac != "" && h.NICs[i].MAC == mac {
			return h.NICs[i].IPs
		}
	}
	return nil
}

// onData are the addresses that the network data give a card.
func (h *Host) onData(mac string) []netip.Addr {
	var found []netip.Addr
	for _, n := range h.NetworkData {
		if mac != "" && n.MAC == mac {
			found = append(found, n.IP)
		}
	}
	return found
}

// onBootCard are the addresses of the card with the host's boot MAC address, which is its first, else of the first that Metal3 calls bootable.
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

// onNetwork are the addresses that the network data give a network or link, or at all if it has no id: then at most one of a family.
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
	return nil, noAddressAtAll + " on " + id + " in its network data"
}

func (h *Host) onOnlyCard() (addresses []netip.Addr, why string) {
	why = noAddressAtAll
	for i := range h.NICs {
		switch ips := h.NICs[i].IPs; {
		case !slices.ContainsFunc(ips, func(a netip.Addr) bool { return !slices.Contains(addresses, a) }): // none, or those of a bond again
		case addresses != nil:
			return nil, tooMany
		default:
			addresses, why = ips, ""
		}
	}
	return addresses, why
}

// withNeighbours are the addresses of the boot card, else of the first card, else of the first network of the network data, of which one is in
// the subnet. The network data come first if NetworkDataFirst.
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

// within is an address in a subnet: rather one of the given, else any of the host's.
func (h *Host) within(subnet string, rather []netip.Addr) netip.Addr {
	in := inside(subnet)
	if i := slices.IndexFunc(rather, in); i >= 0 {
		return rather[i]
	}
	near := h.withNeighbours(subnet)
	if i := slices.IndexFunc(near, in); i >= 0 {
		return near[i]
	}
	return netip.Addr{}
}

// orUnread is why there is no address, unless network data may give one.
func (h *Host) orUnread(why string) string {
	if h.NetworkUnread {
		return unread
	}
	return why
}

// inside tells addresses in a subnet from others. A subnet that cannot be read, which the webhook refuses, has none.
func inside(subnet string) func(netip.Addr) bool {
	prefix, err := netip.ParsePrefix(subnet)
	return func(a netip.Addr) bool { return err == nil && prefix.Contains(a) }
}

// preferred is the first IPv4 address, else the first.
func preferred(addresses []netip.Addr) netip.Addr {
	return addresses[max(0, slices.IndexFunc(addresses, netip.Addr.Is4))]
}

// Remedy is what a person can do about a missing address.
func Remedy(access contract.Access, why string) string {
	switch {
	case why == unreadable:
		return "correct the Secret that its spec.networkData, or else spec.preprovisioningNetworkDataName, names"
	case access.Interface != "":
		return "correct spec.access.interface, or the Secret with the host's network data"
	case why == severalOnData:
		return "name the network in spec.access.interface, or its subnet in spec.access.subnets"
	case why == tooMany:
		return "name the nodes' subnet in spec.access.subnets"
	case len(access.Subnets) > 0:
		return "correct spec.access.subnets, or the host's addresses"
	}
	return "inspect it again, or give its HardwareData the address"
}
