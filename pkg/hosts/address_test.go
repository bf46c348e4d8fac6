package hosts

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// cardWith returns the card with the MAC address 02:00:00:00:01:0n and these IP addresses.
func cardWith(n string, addresses ...string) NIC {
	return NIC{Name: "eth" + n, MAC: "02:00:00:00:01:0" + n, IPs: ips(addresses...)}
}

func ips(addresses ...string) []netip.Addr {
	var found []netip.Addr
	for _, a := range addresses {
		found = append(found, netip.MustParseAddr(a))
	}
	return found
}

func bootCard(n NIC) NIC { n.Boot = true; return n }

func machine(nics ...NIC) Host {
	h := Host{Name: "host-1", UID: "u1", NICs: nics}
	for _, n := range nics {
		h.MACs = append(h.MACs, n.MAC)
	}
	return h
}

func onData(h Host, addresses ...string) Host { // network/link=address
	for _, a := range addresses {
		names, address, _ := strings.Cut(a, "=")
		network, link, _ := strings.Cut(names, "/")
		h.NetworkData = append(h.NetworkData, NetworkAddress{Network: network, Link: link, MAC: "02:00:00:00:02:01", IP: netip.MustParseAddr(address)})
	}
	return h
}

// given returns a host that is configured by Metal3 with the network data.
func given(h Host) Host { h.NetworkDataFirst = true; return h }

func unreadData(h Host) Host { h.NetworkUnread = true; return h }

func TestAddresses(t *testing.T) {
	type access = contract.Access
	near, dual := access{Subnets: []string{"10.2.0.0/16"}}, access{Subnets: []string{"10.2.0.0/16", "fd02::/64"}}
	oam := access{Interface: "oam"}
	plain := machine(cardWith("1", "10.1.0.1"))
	three := machine(cardWith("1", "10.1.0.1"), bootCard(cardWith("2", "10.2.0.1", "fd02::1")), cardWith("3", "10.3.0.1"))
	for _, tc := range []struct {
		name   string
		host   Host
		mac    string
		access access
		want   string // "first second", or the reason why there is no address
	}{
		{"the only card", plain, "", access{}, "10.1.0.1"},
		{"the boot card", three, "", access{}, "10.2.0.1 fd02::1"},
		{"the pinned card", three, "02:00:00:00:01:03", access{}, "10.3.0.1"},
		{"the pinned card, whatever the subnet", three, "02:00:00:00:01:03", near, "10.3.0.1"},
		{"the pinned card, whatever the subnets", three, "02:00:00:00:01:03", access{Subnets: []string{"10.2.0.0/16", "fd09::/64"}}, "10.3.0.1"},
		{"the pinned card, and a second subnet", three, "02:00:00:00:01:03", dual, "10.3.0.1 fd02::1"},
		{"the pinned card, by the network data", onData(onData(plain, "oam/eth4=10.4.0.1"), "n/x=fd04::1"), "02:00:00:00:02:01", access{}, "10.4.0.1 fd04::1"},
		{"the boot card before the network data of the pinned one", onData(three, "oam/eth4=10.4.0.1"), "02:00:00:00:02:01", access{}, "10.2.0.1 fd02::1"},
		{"the pinned card has none: the boot card", machine(cardWith("1"), bootCard(cardWith("2", "10.2.0.1"))), "02:00:00:00:01:01", access{}, "10.2.0.1"},
		{"the pinned card has none: the subnet", machine(cardWith("1"), cardWith("2", "10.2.0.1"), cardWith("3", "10.3.0.1")), "02:00:00:00:01:01", near, "10.2.0.1"},
		{"the subnet before the boot card", three, "", access{Subnets: []string{"10.3.0.0/24"}}, "10.3.0.1"},
		{"the subnet says IPv6 first", three, "", access{Subnets: []string{"fd02::/64"}}, "fd02::1 10.2.0.1"},
		{"two subnets", three, "", dual, "10.2.0.1 fd02::1"},
		{"two subnets, IPv6 first", three, "", access{Subnets: []string{"fd02::/64", "10.3.0.0/24"}}, "fd02::1 10.3.0.1"},
		{"two subnets on two cards", machine(cardWith("1", "fd02::7"), cardWith("2", "10.2.0.7")), "", dual, "10.2.0.7 fd02::7"},
		{"the subnet in the network data", onData(plain, "a/x=10.1.9.9", "b/y=10.2.0.9"), "", near, "10.2.0.9"},
		{"no address in the subnet", plain, "", near, "without an IP address in 10.2.0.0/16"},
		{"none in the second subnet", machine(cardWith("1", "10.2.0.1")), "", dual, "without an IP address in fd02::/64"},
		{"a subnet that is none", plain, "", access{Subnets: []string{"10.1.0.0"}}, "without an IP address in 10.1.0.0"},
		{"IPv4 before IPv6", machine(cardWith("1", "fd00::1", "10.1.0.1")), "", access{}, "10.1.0.1 fd00::1"},
		{"only IPv6", machine(cardWith("1", "fd00::1")), "", access{}, "fd00::1"},
		{"two bootable cards: that of the host's boot MAC", func() Host {
			h := machine(bootCard(cardWith("1", "10.1.0.1")), bootCard(cardWith("2", "10.2.0.1")))
			h.MACs = []string{"02:00:00:00:01:02", "02:00:00:00:01:01"}
			return h
		}(), "", access{}, "10.2.0.1"},
		{"the boot card has none", machine(bootCard(cardWith("1")), cardWith("2", "10.2.0.1")), "", access{}, "10.2.0.1"},
		{"several cards and no boot card", machine(cardWith("1", "10.1.0.1"), cardWith("2", "10.2.0.1")), "", access{}, tooMany},
		{"nothing", machine(cardWith("1")), "", access{}, "without an IP address"},
		{"no card", Host{}, "", access{}, "without an IP address"},

		{"network by its id", onData(three, "oam/eth0=10.4.0.1", "data/eth1=10.5.0.1"), "", oam, "10.4.0.1"},
		{"network by its link", onData(three, "n1/oam=10.4.0.1", "n2/oam=fd04::1", "data/eth1=10.5.0.1"), "", oam, "10.4.0.1 fd04::1"},
		{"network, but a card is pinned", onData(three, "oam/eth0=10.4.0.1"), "02:00:00:00:01:03", oam, "10.3.0.1"},
		{"network in the subnet", onData(three, "oam/eth0=10.2.9.1"), "", access{Interface: "oam", Subnets: near.Subnets}, "10.2.9.1"},
		{"network in another subnet", onData(three, "oam/eth0=10.4.0.1"), "", access{Interface: "oam", Subnets: near.Subnets}, "without an IP address in 10.2.0.0/16"},
		{"no such network", onData(three, "data/eth1=10.5.0.1"), "", oam, "without an IP address on oam in the network data"},
		{"no network data", three, "", oam, "without an IP address on oam in the network data"},
		{"network with two addresses", onData(three, "oam/eth0=10.4.0.1", "oam/eth0=10.4.0.2"), "", oam, severalOnData},
		{"the only network", onData(machine(), "n/eth0=10.4.0.1", "n6/eth0=fd04::1"), "", access{}, "10.4.0.1 fd04::1"},
		{"network data before other cards", onData(plain, "n/eth0=10.4.0.1"), "", access{}, "10.4.0.1"},
		{"two networks", onData(plain, "n/eth0=10.4.0.1", "m/eth1=10.5.0.1"), "", access{}, severalOnData},

		{"imaged: the network data before the boot card", given(onData(three, "oam/eth0=10.4.0.1")), "", access{}, "10.4.0.1"},
		{"imaged: the network data of the pinned card", given(onData(three, "oam/eth0=10.4.0.1", "n6/eth0=fd04::1")), "02:00:00:00:02:01", access{}, "10.4.0.1 fd04::1"},
		{"imaged: the network data before what was seen on the pinned card", given(onData(three, "oam/bond0=10.4.0.1")), "02:00:00:00:01:03", access{}, "10.4.0.1"},
		{"imaged: the network before what was seen on the pinned card", given(onData(three, "oam/bond0=10.4.0.1", "n/x=10.5.0.1")), "02:00:00:00:01:03", oam, "10.4.0.1"},
		{"imaged: the network data in the subnet", given(onData(three, "a/x=10.4.0.1", "b/y=10.2.0.9")), "", near, "10.2.0.9"},
		{"imaged: the network data in both subnets", given(onData(three, "a/x=10.4.0.1", "b/y=10.2.0.9", "c/z=fd02::9")), "", dual, "10.2.0.9 fd02::9"},
		{"imaged: the subnet is not in the network data", given(onData(three, "a/x=10.4.0.1")), "", near, "10.2.0.1 fd02::1"},
		{"imaged: several networks, one of the boot card", func() Host {
			h := given(onData(three, "a/x=10.4.0.1", "b/y=10.5.0.1"))
			h.MACs, h.NetworkData[1].MAC = []string{"02:00:00:00:01:02"}, "02:00:00:00:01:02"
			return h
		}(), "", access{}, "10.5.0.1"},
		{"imaged: several networks, all of the boot card", func() Host {
			h := given(onData(three, "a/x=10.4.0.1", "b/y=10.5.0.1"))
			h.MACs = []string{"02:00:00:00:02:01"}
			return h
		}(), "", access{}, severalOnData},
		{"imaged: several networks", given(onData(three, "a/x=10.4.0.1", "b/y=10.5.0.1")), "", access{}, severalOnData},
		{"imaged: by DHCP", given(three), "", access{}, "10.2.0.1 fd02::1"},
		{"imaged: no such Secret", func() Host { h := given(three); h.NetworkUnreadable = true; return h }(), "", access{}, unreadable},
		{"imaged: unread", given(unreadData(three)), "", access{}, unread},
		{"imaged: unread, with a subnet", given(unreadData(three)), "", near, unread},
		{"imaged: unread, with a pin", given(unreadData(three)), "02:00:00:00:01:03", access{}, unread},

		{"unread: the boot card is enough", unreadData(three), "", access{}, "10.2.0.1 fd02::1"},
		{"unread: the subnet is enough", unreadData(three), "", near, "10.2.0.1 fd02::1"},
		{"unread: the pin is enough", unreadData(three), "02:00:00:00:01:01", oam, "10.1.0.1"},
		{"unread: the interface", unreadData(three), "", oam, unread},
		{"unread: another subnet", unreadData(plain), "", near, unread},
		{"unread: the second subnet", unreadData(machine(cardWith("1", "10.2.0.1"))), "", dual, unread},
		{"unread: no boot card", unreadData(plain), "", access{}, unread},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, second, got := tc.host.Addresses(tc.mac, tc.access)
			if got == "" {
				got = first.String()
				if second.IsValid() {
					got += " " + second.String()
				}
			} else if first.IsValid() || second.IsValid() {
				t.Errorf("%s, and yet %s %s", got, first, second)
			}
			if got != tc.want {
				t.Errorf("Addresses = %q, want %q", got, tc.want)
			}
			if wants := tc.host.WantsNetworkData(tc.mac, tc.access); wants != (tc.want == unread) {
				t.Errorf("WantsNetworkData = %t", wants)
			}
			request := contract.Request{Spec: contract.Spec{Access: tc.access}}
			if why := tc.host.Unreachable(tc.mac, &request); why != "" && why != tc.want || why == unread {
				t.Errorf("unreachable = %q", why)
			}
		})
	}
}

// TestAddressesAreTheHostsOwn checks random hosts: an address is one of the addresses of the host,
// has the requested family and is in the requested subnet. If nothing is requested and the host has
// a single address, that address is found.
func TestAddressesAreTheHostsOwn(t *testing.T) {
	found := 0
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 3))
		any := func() netip.Addr {
			return netip.MustParseAddr([]string{"10.1.0.", "10.2.0.", "fd02::", "fd03::"}[r.IntN(4)] + strconv.Itoa(1+r.IntN(3)))
		}
		h, own := Host{NetworkUnread: r.IntN(5) == 0, NetworkDataFirst: r.IntN(2) == 0}, map[netip.Addr]bool{}
		for i := range r.IntN(4) {
			nic := NIC{MAC: fmt.Sprintf("02:00:00:00:00:0%d", i), Boot: r.IntN(3) == 0}
			for range r.IntN(3) {
				nic.IPs = append(nic.IPs, any())
				own[nic.IPs[len(nic.IPs)-1]] = true
			}
			h.NICs, h.MACs = append(h.NICs, nic), append(h.MACs, nic.MAC)
		}
		for range r.IntN(3) {
			n := NetworkAddress{Network: "n" + strconv.Itoa(r.IntN(2)), Link: "l", MAC: "02:00:00:00:00:09", IP: any()}
			h.NetworkData = append(h.NetworkData, n)
			own[n.IP] = true
		}
		var access contract.Access
		switch r.IntN(5) {
		case 0:
			access.Subnets = []string{"10.2.0.0/16"}
		case 3:
			access = contract.Access{Subnets: []string{"fd02::/64"}, Interface: "n1"}
		case 1:
			access.Subnets = []string{"fd02::/64", "10.1.0.0/16"}
		case 2:
			access.Interface = "n1"
		}
		mac := []string{"", "", "02:00:00:00:00:00", "02:00:00:00:00:09"}[r.IntN(4)]
		first, second, why := h.Addresses(mac, access)
		if (why == "") != first.IsValid() || !first.IsValid() && second.IsValid() {
			t.Fatalf("seed %d: %s, %s, %q", seed, first, second, why)
		}
		if why != "" {
			if mac == "" && len(own) == 1 && access.Subnets == nil && access.Interface == "" && !h.NetworkUnread {
				t.Fatalf("seed %d: %q, but it has one: %v", seed, why, own)
			}
			continue
		}
		found++
		if !own[first] || second.IsValid() && (!own[second] || second.Is4() == first.Is4()) {
			t.Fatalf("seed %d: %s and %s of %v", seed, first, second, own)
		}
		for i, subnet := range access.Subnets {
			if a := []netip.Addr{first, second}[i]; mac == "" && !inside(subnet)(a) {
				t.Fatalf("seed %d: %s is not in %s", seed, a, subnet)
			}
		}
	}
	if found < 5000 || found > 19000 {
		t.Errorf("%d of 20000 hosts have an address: the random hosts cover too little", found)
	}
}
