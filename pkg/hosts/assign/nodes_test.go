package assign

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// TestBareHostGetsItsAddressLater checks that a host without an operating system gets its address
// with the network data of its image.
func TestBareHostGetsItsAddressLater(t *testing.T) {
	h := hosts.Host{Name: "host-1", UID: "u1", Bare: true}
	request := contract.Request{Spec: contract.Spec{OSImage: &contract.OSImage{URL: "http://site/os"}}}
	if got := h.Unreachable("", &request); got != "without an IP address" {
		t.Errorf("without network data it is %q", got)
	}
	request.OSImage.NetworkData = "$(host)-net"
	nodes, err := Nodes(request, []hosts.Host{h}, Assignment{{Node: "a", Host: "host-1"}})
	want := []contract.Node{{Name: "a", Host: "host-1", HostUID: "u1"}}
	if diff := cmp.Diff(want, nodes); err != nil || diff != "" || h.Unreachable("", &request) != "" {
		t.Errorf("%v, %q, nodes (-want +got):\n%s", err, h.Unreachable("", &request), diff)
	}
	h.NICs = []hosts.NIC{{Name: "eth1", MAC: "02:00:00:00:01:01", IPs: []netip.Addr{netip.MustParseAddr("10.1.0.1")}, Boot: true}}
	if nodes, err = Nodes(request, []hosts.Host{h}, Assignment{{Node: "a", Host: "host-1"}}); err != nil || nodes[0].Address != "" {
		t.Errorf("%v, %+v; want the address of its inspection to be ignored", err, nodes)
	}
	h.Bare, h.NICs = false, nil
	if _, err := Nodes(request, []hosts.Host{h}, Assignment{{Node: "a", Host: "host-1"}}); err == nil {
		t.Error("a host with an operating system and without an address is accepted")
	}
}

// hostWith returns a host with one card for each address.
func hostWith(addresses ...string) hosts.Host {
	h := hosts.Host{Name: "host-1", UID: "u1"}
	for i, a := range addresses {
		n := hosts.NIC{Name: fmt.Sprintf("eth%d", i+1), MAC: fmt.Sprintf("02:00:00:00:01:0%d", i+1), IPs: []netip.Addr{netip.MustParseAddr(a)}}
		h.NICs, h.MACs = append(h.NICs, n), append(h.MACs, n.MAC)
	}
	return h
}

// bothFamilies returns a host with two addresses on one card.
func bothFamilies(first, second string) hosts.Host {
	h := hostWith(first)
	h.NICs[0].IPs = append(h.NICs[0].IPs, netip.MustParseAddr(second))
	return h
}

// networks returns network data from pairs of a network name and an address.
func networks(pairs ...string) (data []hosts.NetworkAddress) {
	for i := 0; i < len(pairs); i += 2 {
		data = append(data, hosts.NetworkAddress{Network: pairs[i], Link: "x", MAC: "02:00:00:00:02:01", IP: netip.MustParseAddr(pairs[i+1])})
	}
	return data
}

// at returns a host with one address.
func at(name, address string, change ...func(*hosts.Host)) hosts.Host {
	h := hostWith(address)
	h.Name = name
	for _, f := range change {
		f(&h)
	}
	return h
}

func holds(owner string) func(*hosts.Host) {
	return func(h *hosts.Host) {
		h.Holder = &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: owner}
	}
}

var edge1 = contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site"}}

func TestNodesRefuseWhatCannotBeReached(t *testing.T) {
	assigned := Assignment{{Node: "a", Host: "host-1"}, {Node: "b", Host: "host-2"}}
	for _, tc := range []struct {
		name   string
		access contract.Access
		hosts  []hosts.Host
		want   string
	}{
		{"no address", contract.Access{}, []hosts.Host{at("host-1", "10.0.0.1"), {Name: "host-2"}},
			"host host-2, chosen for b, is without an IP address: inspect the host again, or add the address to its HardwareData"},
		{"not in the subnet", contract.Access{Subnets: []string{"10.0.0.0/24"}}, []hosts.Host{at("host-1", "10.0.0.1"), at("host-2", "10.9.0.1")},
			"host host-2, chosen for b, is without an IP address in 10.0.0.0/24: correct spec.access.subnets, or the host's addresses"},
		{"several cards", contract.Access{}, []hosts.Host{at("host-1", "10.0.0.1"), func() hosts.Host {
			h := hostWith("10.0.0.2", "10.9.0.2")
			h.Name = "host-2"
			return h
		}()}, "host host-2, chosen for b, is without a unique IP address (several network cards have one): name the subnet of the nodes in spec.access.subnets"},
		{"several networks", contract.Access{}, []hosts.Host{at("host-1", "10.0.0.1"), hosts.Host{Name: "host-2", NetworkData: networks("n", "10.0.0.2", "m", "10.0.0.3")}},
			"host host-2, chosen for b, is without a unique IP address (the network data have several): " +
				"name the network in spec.access.interface, or its subnet in spec.access.subnets"},
		{"no such network", contract.Access{Interface: "oam"}, []hosts.Host{hosts.Host{Name: "host-1", NetworkData: networks("oam", "10.0.0.2")}, at("host-2", "10.0.0.1")},
			"host host-2, chosen for b, is without an IP address on oam in the network data: " +
				"correct spec.access.interface, or the Secret with the host's network data"},
		{"network data that are gone", contract.Access{}, []hosts.Host{at("host-1", "10.0.0.1"), at("host-2", "10.0.0.2", func(h *hosts.Host) {
			h.NetworkDataFirst, h.NetworkUnreadable = true, true
		})}, "host host-2, chosen for b, is without readable network data: " +
			"correct the Secret that the host names in spec.networkData or else in spec.preprovisioningNetworkDataName"},
		{"an address twice", contract.Access{}, []hosts.Host{at("host-1", "10.0.0.1"), at("host-2", "10.0.0.1")},
			"host host-2, chosen for b, has the same address 10.0.0.1 as host host-1: correct the hardware facts of one of them"},
		{"an address twice, both ours", contract.Access{}, []hosts.Host{at("host-1", "10.0.0.1", holds("edge-1")), at("host-2", "10.0.0.1", holds("edge-1"))},
			"host host-2, chosen for b, has the same address 10.0.0.1 as host host-1: correct the hardware facts of one of them"},
		{"the address of a host that others hold", contract.Access{}, []hosts.Host{at("host-1", "10.0.0.1"), at("host-2", "10.0.0.3"), at("host-3", "10.0.0.3", holds("edge-2"))},
			"host host-2, chosen for b, has the same address 10.0.0.3 as host host-3: correct the hardware facts of one of them"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			request := edge1
			request.Access = tc.access
			_, err := Nodes(request, tc.hosts, assigned)
			var address *AddressError
			if !errors.As(err, &address) || address.Host != "host-2" || address.Node != "b" {
				t.Fatalf("Nodes: %v; want an AddressError of node b and host-2", err)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNodesOfOthersDoNotStopUs checks that wrong facts of a host that is not ours do not block an
// installed cluster.
func TestNodesOfOthersDoNotStopUs(t *testing.T) {
	ours := at("host-1", "10.0.0.1", holds("edge-1"))
	for name, other := range map[string]hosts.Host{"free": at("host-2", "10.0.0.1"), "held": at("host-2", "10.0.0.1", holds("edge-2"))} {
		if _, err := Nodes(edge1, []hosts.Host{ours, other}, Assignment{{Node: "a", Host: "host-1"}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNodesHaveBothFamiliesAndStandby(t *testing.T) {
	all := []hosts.Host{bothFamilies("fd00::1", "10.0.0.1"), {Name: "host-2", UID: "u2"}}
	nodes, err := Nodes(edge1, all, Assignment{
		{Node: "workers-1", Roles: []string{contract.RoleWorker}, Set: "workers", Host: "host-1"}, {Node: "workers-2", Set: "workers", Standby: true, Host: "host-2"},
	})
	want := []contract.Node{
		{Name: "workers-1", Roles: []string{contract.RoleWorker}, Host: "host-1", HostUID: "u1", Address: "10.0.0.1", Address6: "fd00::1", Set: "workers",
			MACs: []string{"02:00:00:00:01:01"}},
		{Name: "workers-2", Host: "host-2", HostUID: "u2", Set: "workers", Standby: true},
	}
	if diff := cmp.Diff(want, nodes); err != nil || diff != "" {
		t.Errorf("%v, nodes (-want +got):\n%s", err, diff)
	}
}

func TestMarkDuplicates(t *testing.T) {
	bare := func(h *hosts.Host) { h.Bare = true }
	broken := func(h *hosts.Host) { h.Unusable = "in error state" }
	for _, tc := range []struct {
		name  string
		hosts []hosts.Host
		want  map[string]string
	}{
		{"none", []hosts.Host{at("a", "10.0.0.1"), at("b", "10.0.0.2"), {Name: "c"}, {Name: "d"}}, nil},
		{"two free ones", []hosts.Host{at("a", "10.0.0.1"), at("b", "10.0.0.1"), at("c", "10.0.0.2")},
			map[string]string{"a": "sharing its address with b", "b": "sharing its address with a"}},
		{"a held host is kept", []hosts.Host{at("a", "10.0.0.1"), at("b", "10.0.0.1"), at("c", "10.0.0.1", holds("edge-1"))},
			map[string]string{"a": "sharing its address with c", "b": "sharing its address with c"}},
		{"both are held", []hosts.Host{at("a", "10.0.0.1", holds("edge-1")), at("b", "10.0.0.1", holds("edge-2"))}, nil},
		{"the other cannot be used", []hosts.Host{at("a", "10.0.0.1"), at("b", "10.0.0.1", broken)}, map[string]string{"b": "in error state"}},
		{"the other is held and in error", []hosts.Host{at("a", "10.0.0.1"), at("b", "10.0.0.1", broken, holds("edge-2"))},
			map[string]string{"a": "sharing its address with b", "b": "in error state"}},
		{"without an operating system", []hosts.Host{at("a", "10.0.0.1"), at("b", "10.0.0.1", bare)}, nil},
		{"no hosts", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := cmp.Diff(nil, tc.hosts)
			got := map[string]string{}
			for _, h := range markDuplicates(tc.hosts, contract.Access{}) {
				if h.Unusable != "" {
					got[h.Name] = h.Unusable
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 {
				t.Errorf("unusable (-want +got):\n%s", diff)
			}
			if cmp.Diff(nil, tc.hosts) != before {
				t.Error("the hosts were changed")
			}
		})
	}
}
