package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

const Gi = 1 << 30

var me = Owner{Namespace: "site", Name: "edge-1"}

// host makes a host that can be used: host(3, 8, 16) has MAC ...:03 and address 10.0.0.3.
func host(n, cpu int, memory int64, change ...func(*Host)) Host {
	mac := fmt.Sprintf("02:00:00:00:00:%02x", n)
	h := Host{
		Name: fmt.Sprintf("host-%d", n), UID: fmt.Sprintf("u%d", n), CPU: cpu, Memory: memory * Gi, MACs: []string{mac},
		NICs: []NIC{{Name: "eth0", MAC: mac, IPs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})}}},
	}
	for _, f := range change {
		f(&h)
	}
	return h
}

func unusable(why string) func(*Host) { return func(h *Host) { h.Unusable = why } }
func sriov(h *Host)                   { h.SRIOV = true }
func qat(h *Host)                     { h.QAT = true }
func noAddress(h *Host)               { h.NICs = nil }
func mac(mac string) func(*Host)      { return func(h *Host) { h.MACs = append(h.MACs, mac) } }
func heldBy(owner, node string) func(*Host) {
	return func(h *Host) {
		h.Holder, h.Node = &Holder{Group: Group, Kind: Kind, Namespace: "site", Name: owner}, node
	}
}

func slot(name string, cpu int, memory int64) contract.Slot {
	return contract.Slot{Name: name, Roles: []string{contract.RoleWorker}, CPU: cpu, Memory: memory * Gi}
}

func pinned(name string, n int) contract.Slot {
	return contract.Slot{Name: name, MAC: fmt.Sprintf("02:00:00:00:00:%02x", n)}
}

func TestAssign(t *testing.T) {
	for _, tc := range []struct {
		name  string
		slots []contract.Slot
		hosts []Host
		want  []string // host per slot
	}{
		{"any host will do: the order of names decides", []contract.Slot{slot("a", 0, 0), slot("b", 0, 0)},
			[]Host{host(3, 8, 16), host(2, 8, 16), host(1, 8, 16)}, []string{"host-1", "host-2"}},
		{"the small one is enough", []contract.Slot{slot("a", 4, 8)},
			[]Host{host(1, 64, 256), host(2, 4, 8), host(3, 8, 16)}, []string{"host-2"}},
		{"small slots get small hosts", []contract.Slot{slot("big", 8, 16), slot("small", 1, 1)},
			[]Host{host(1, 8, 16), host(2, 4, 8), host(3, 64, 512)}, []string{"host-1", "host-2"}},
		{"special hardware is left for who needs it", []contract.Slot{slot("a", 1, 1)},
			[]Host{host(1, 2, 2, sriov), host(2, 64, 64)}, []string{"host-2"}},
		{"special hardware is found", []contract.Slot{{Name: "a", SRIOV: true, QAT: true}},
			[]Host{host(1, 2, 2, sriov), host(2, 2, 2, qat), host(3, 9, 9, sriov, qat)}, []string{"host-3"}},
		{"pins first, though the host is a waste", []contract.Slot{slot("a", 4, 8), pinned("p", 1)},
			[]Host{host(1, 4, 8), host(2, 64, 256)}, []string{"host-2", "host-1"}},
		{"pinned by its second card", []contract.Slot{{Name: "p", MAC: "02:aa:00:00:00:01"}},
			[]Host{host(1, 4, 8), host(2, 4, 8, mac("02:aa:00:00:00:01"))}, []string{"host-2"}},
		{"first fit would fail", []contract.Slot{slot("any", 1, 1), slot("big", 16, 64)},
			[]Host{host(1, 16, 64), host(2, 2, 2)}, []string{"host-2", "host-1"}},
		{"a chain of moves is found", []contract.Slot{slot("cpu", 8, 1), slot("memory", 1, 64), {Name: "sriov", SRIOV: true}},
			[]Host{host(1, 8, 64), host(2, 1, 64, sriov), host(3, 8, 1)}, []string{"host-3", "host-1", "host-2"}},
		{"what we hold stays in its place", []contract.Slot{slot("a", 1, 1), slot("b", 1, 1)},
			[]Host{host(1, 1, 1), host(7, 64, 64, heldBy("edge-1", "b")), host(8, 64, 64, heldBy("edge-1", "a"))}, []string{"host-8", "host-7"}},
		{"what we hold moves if it must", []contract.Slot{slot("a", 1, 1), slot("b", 8, 8)},
			[]Host{host(1, 8, 8, heldBy("edge-1", "a")), host(2, 1, 1)}, []string{"host-2", "host-1"}},
		{"a pin takes what we hold for another slot", []contract.Slot{pinned("p", 1), slot("a", 1, 1)},
			[]Host{host(1, 8, 8, heldBy("edge-1", "a")), host(2, 1, 1)}, []string{"host-1", "host-2"}},
		{"held by a node's name that is gone", []contract.Slot{slot("new", 1, 1)},
			[]Host{host(1, 1, 1), host(2, 8, 8, heldBy("edge-1", "old"))}, []string{"host-2"}},
		{"nothing wanted", nil, []Host{host(1, 1, 1)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := Assign(tc.slots, tc.hosts, me)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for s, pair := range found {
				if pair.Slot != s {
					t.Errorf("pair %d is of slot %d", s, pair.Slot)
				}
				got = append(got, pair.Host)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoFitExplains(t *testing.T) {
	site := []Host{
		host(1, 8, 8), host(2, 4, 16), host(3, 4, 4), host(4, 16, 64, heldBy("edge-2", "w")),
		host(5, 16, 64, unusable("in error state")), host(6, 16, 64, noAddress),
	}
	for _, tc := range []struct {
		name  string
		slots []contract.Slot
		hosts []Host
		want  string
	}{
		{"counts per requirement", []contract.Slot{slot("worker-1", 8, 16)}, site,
			"worker-1 (8 CPUs, 16Gi): 6 hosts: 2 below 8 CPUs, 1 below 16Gi, 1 held by others, 1 in error state, 1 without an IP address"},
		{"no host at all", []contract.Slot{slot("worker-1", 8, 16), slot("worker-2", 8, 16)}, nil,
			"worker-1, worker-2 (8 CPUs, 16Gi): there is no BareMetalHost in namespace site"},
		{"too few for all", []contract.Slot{slot("a", 8, 0), slot("b", 8, 0)}, site[:2],
			"b (8 CPUs): 2 hosts: 1 below 8 CPUs, 1 needed for other nodes"},
		{"one host of one CPU", []contract.Slot{{Name: "a", CPU: 1, SRIOV: true, QAT: true}}, []Host{host(1, 0, 1)},
			"a (1 CPU, SR-IOV, QAT): 1 host: 1 below 1 CPU"},
		{"special hardware", []contract.Slot{{Name: "a", SRIOV: true}, {Name: "b", QAT: true}}, site[:1],
			"a (SR-IOV): 1 host: 1 without SR-IOV; b (QAT): 1 host: 1 without QAT"},
		{"slot without needs", []contract.Slot{{Name: "a"}}, site[3:5], "a: 2 hosts: 1 held by others, 1 in error state"},
		{"equal slots together", []contract.Slot{slot("a", 99, 0), slot("b", 99, 0), slot("c", 99, 0), slot("d", 99, 0), slot("e", 99, 0)}, site[:1],
			"a, b, c and 2 more (99 CPUs): 1 host: 1 below 99 CPUs"},
		{"many kinds", []contract.Slot{slot("a", 91, 0), slot("b", 92, 0), slot("c", 93, 0), slot("d", 94, 0), slot("e", 95, 0)}, site[:1],
			"a (91 CPUs): 1 host: 1 below 91 CPUs; b (92 CPUs): 1 host: 1 below 92 CPUs; c (93 CPUs): 1 host: 1 below 93 CPUs; " +
				"d (94 CPUs): 1 host: 1 below 94 CPUs; and 1 more kinds of nodes"},
		{"pin to nothing", []contract.Slot{pinned("p", 99)}, site, "p: none of 6 hosts has the MAC address 02:00:00:00:00:63"},
		{"pin to a held host", []contract.Slot{pinned("p", 4)}, site,
			"p: host host-4 with the MAC address 02:00:00:00:00:04 is held by Provisioning edge-2"},
		{"pin to a host in error", []contract.Slot{pinned("p", 5)}, site,
			"p: host host-5 with the MAC address 02:00:00:00:00:05 is in error state"},
		{"pin to a host without address", []contract.Slot{pinned("p", 6)}, site,
			"p: host host-6 with the MAC address 02:00:00:00:00:06 is without an IP address"},
		{"pin with a need that the host does not meet", []contract.Slot{{Name: "p", MAC: "02:00:00:00:00:03", Memory: 16 * Gi}}, site,
			"p: host host-3 with the MAC address 02:00:00:00:00:03 is below 16Gi"},
		{"two pins to one host", []contract.Slot{pinned("p", 1), {Name: "q", MAC: "02:aa:00:00:00:01"}}, []Host{host(1, 1, 1, mac("02:aa:00:00:00:01"))},
			"q: host host-1 with the MAC address 02:aa:00:00:00:01 is needed for p"},
		{"one address on two hosts", []contract.Slot{{Name: "p", MAC: "02:aa:00:00:00:01"}},
			[]Host{host(1, 1, 1, mac("02:aa:00:00:00:01")), host(2, 1, 1, mac("02:aa:00:00:00:01"))},
			"p: the MAC address 02:aa:00:00:00:01 is of 2 hosts (host-1, host-2), so it does not say which"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := Assign(tc.slots, tc.hosts, me)
			var nofit *NoFit
			if !errors.As(err, &nofit) {
				t.Fatalf("Assign = %v, %v; want a NoFit", found, err)
			}
			if len(nofit.Hosts) != len(tc.hosts) {
				t.Errorf("it tells of %d hosts, want %d", len(nofit.Hosts), len(tc.hosts))
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoFitTellsPerHost(t *testing.T) {
	_, err := Assign([]contract.Slot{slot("a", 8, 0), slot("b", 8, 0)}, []Host{host(1, 8, 8), host(2, 4, 8)}, me)
	var nofit *NoFit
	if !errors.As(err, &nofit) || len(nofit.Unmet) != 1 {
		t.Fatalf("Assign: %v; want one slot unmet", err)
	}
	want := map[string]string{"host-1": "needed for a", "host-2": "below 8 CPUs"}
	if diff := cmp.Diff(want, nofit.Unmet[0].Obstacles); diff != "" {
		t.Errorf("obstacles (-want +got):\n%s", diff)
	}
}

func TestNodes(t *testing.T) {
	dual := host(2, 1, 1, func(h *Host) {
		h.NICs = []NIC{
			{MAC: "02:aa:00:00:00:02", IPs: []netip.Addr{netip.MustParseAddr("fd00::2")}},
			{MAC: "02:00:00:00:00:02", Boot: true, IPs: []netip.Addr{netip.MustParseAddr("fd00::9"), netip.MustParseAddr("10.0.0.2")}},
		}
		h.MACs = append(h.MACs, "02:aa:00:00:00:02")
	})
	late := host(3, 1, 1, func(h *Host) { h.NICs = append([]NIC{{MAC: "02:bb:00:00:00:03", Boot: true}}, h.NICs...) })
	for _, tc := range []struct {
		name string
		slot contract.Slot
		host Host
		want string
	}{
		{"the first with an address", slot("a", 0, 0), host(1, 1, 1), "10.0.0.1"},
		{"the boot card, IPv4 first", slot("a", 0, 0), dual, "10.0.0.2"},
		{"the pinned card", contract.Slot{Name: "a", MAC: "02:aa:00:00:00:02"}, dual, "fd00::2"},
		{"the boot card has none", slot("a", 0, 0), late, "10.0.0.3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nodes, err := Nodes([]contract.Slot{tc.slot}, []Host{tc.host}, Assignment{{0, tc.host.Name}})
			want := []contract.Node{{Name: "a", Roles: tc.slot.Roles, Host: tc.host.Name, HostUID: tc.host.UID, Address: tc.want}}
			if diff := cmp.Diff(want, nodes); err != nil || diff != "" {
				t.Errorf("%v, nodes (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestNodesWithoutAddress(t *testing.T) {
	slots := []contract.Slot{slot("a", 0, 0), slot("b", 0, 0)}
	twin := host(2, 1, 1)
	twin.NICs = host(1, 1, 1).NICs
	for name, world := range map[string][]Host{"missing": {host(1, 1, 1), host(2, 1, 1, noAddress)}, "twice": {host(1, 1, 1), twin}} {
		t.Run(name, func(t *testing.T) {
			_, err := Nodes(slots, world, Assignment{{0, "host-1"}, {1, "host-2"}})
			var address *AddressError
			if !errors.As(err, &address) || address.Host != "host-2" || address.Node != "b" {
				t.Errorf("Nodes: %v; want an AddressError of node b and host-2", err)
			}
		})
	}
}
