package assign

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

const Gi = 1 << 30

var me = hosts.Owner{Namespace: "site", Name: "edge-1"}

// host returns a usable host: host(3, 8, 16) has the MAC address ...:03 and the address 10.0.0.3.
func host(n, cpu int, memory int64, change ...func(*hosts.Host)) hosts.Host {
	mac := fmt.Sprintf("02:00:00:00:00:%02x", n)
	h := hosts.Host{
		Name: fmt.Sprintf("host-%d", n), UID: fmt.Sprintf("u%d", n), CPU: cpu, Memory: memory * Gi, MACs: []string{mac},
		NICs: []hosts.NIC{{Name: "eth0", MAC: mac, IPs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})}}},
	}
	for _, f := range change {
		f(&h)
	}
	return h
}

func unusable(why string) func(*hosts.Host) { return func(h *hosts.Host) { h.Unusable = why } }
func sriov(h *hosts.Host)                   { h.SRIOV = true }
func qat(h *hosts.Host)                     { h.QAT = true }
func noAddress(h *hosts.Host)               { h.NICs = nil }
func mac(mac string) func(*hosts.Host)      { return func(h *hosts.Host) { h.MACs = append(h.MACs, mac) } }
func heldBy(owner, node string) func(*hosts.Host) {
	return func(h *hosts.Host) {
		h.Holder, h.Node = &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: owner}, node
	}
}

func slot(name string, cpu int, memory int64) contract.Slot {
	return contract.Slot{Name: name, Roles: []string{contract.RoleWorker}, Needs: contract.Needs{CPU: cpu, Memory: memory * Gi}}
}

// need returns a slot with any requirements.
func need(name string, needs contract.Needs) contract.Slot {
	return contract.Slot{Name: name, Needs: needs}
}

// ask returns a request of the Provisioning edge-1 for these slots.
func ask(slots ...contract.Slot) contract.Request {
	return contract.Request{Spec: contract.Spec{Namespace: me.Namespace, Provisioning: me.Name, Slots: slots}}
}

func pinned(name string, n int) contract.Slot {
	return contract.Slot{Name: name, MAC: fmt.Sprintf("02:00:00:00:00:%02x", n)}
}

func TestAssign(t *testing.T) {
	for _, tc := range []struct {
		name  string
		slots []contract.Slot
		hosts []hosts.Host
		want  []string // host per slot
	}{
		{"any host will do: the order of names decides", []contract.Slot{slot("a", 0, 0), slot("b", 0, 0)},
			[]hosts.Host{host(3, 8, 16), host(2, 8, 16), host(1, 8, 16)}, []string{"host-1", "host-2"}},
		{"the small one is enough", []contract.Slot{slot("a", 4, 8)},
			[]hosts.Host{host(1, 64, 256), host(2, 4, 8), host(3, 8, 16)}, []string{"host-2"}},
		{"small slots get small hosts", []contract.Slot{slot("big", 8, 16), slot("small", 1, 1)},
			[]hosts.Host{host(1, 8, 16), host(2, 4, 8), host(3, 64, 512)}, []string{"host-1", "host-2"}},
		{"special hardware is left for nodes that need it", []contract.Slot{slot("a", 1, 1)},
			[]hosts.Host{host(1, 2, 2, sriov), host(2, 64, 64)}, []string{"host-2"}},
		{"special hardware is found", []contract.Slot{need("a", contract.Needs{SRIOV: true, QAT: true})},
			[]hosts.Host{host(1, 2, 2, sriov), host(2, 2, 2, qat), host(3, 9, 9, sriov, qat)}, []string{"host-3"}},
		{"pins first, though the host is a waste", []contract.Slot{slot("a", 4, 8), pinned("p", 1)},
			[]hosts.Host{host(1, 4, 8), host(2, 64, 256)}, []string{"host-2", "host-1"}},
		{"pinned by its second card", []contract.Slot{{Name: "p", MAC: "02:aa:00:00:00:01"}},
			[]hosts.Host{host(1, 4, 8), host(2, 4, 8, mac("02:aa:00:00:00:01"))}, []string{"host-2"}},
		{"first fit would fail", []contract.Slot{slot("any", 1, 1), slot("big", 16, 64)},
			[]hosts.Host{host(1, 16, 64), host(2, 2, 2)}, []string{"host-2", "host-1"}},
		{"a chain of moves is found", []contract.Slot{slot("cpu", 8, 1), slot("memory", 1, 64), need("sriov", contract.Needs{SRIOV: true})},
			[]hosts.Host{host(1, 8, 64), host(2, 1, 64, sriov), host(3, 8, 1)}, []string{"host-3", "host-1", "host-2"}},
		{"what we hold stays in its place", []contract.Slot{slot("a", 1, 1), slot("b", 1, 1)},
			[]hosts.Host{host(1, 1, 1), host(7, 64, 64, heldBy("edge-1", "b")), host(8, 64, 64, heldBy("edge-1", "a"))}, []string{"host-8", "host-7"}},
		{"what we hold moves if it must", []contract.Slot{slot("a", 1, 1), slot("b", 8, 8)},
			[]hosts.Host{host(1, 8, 8, heldBy("edge-1", "a")), host(2, 1, 1)}, []string{"host-2", "host-1"}},
		{"a pin takes what we hold for another slot", []contract.Slot{pinned("p", 1), slot("a", 1, 1)},
			[]hosts.Host{host(1, 8, 8, heldBy("edge-1", "a")), host(2, 1, 1)}, []string{"host-1", "host-2"}},
		{"held by a node's name that is gone", []contract.Slot{slot("new", 1, 1)},
			[]hosts.Host{host(1, 1, 1), host(2, 8, 8, heldBy("edge-1", "old"))}, []string{"host-2"}},
		{"nothing wanted", nil, []hosts.Host{host(1, 1, 1)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := Assign(ask(tc.slots...), tc.hosts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for s, p := range found {
				if p.Node != tc.slots[s].Name {
					t.Errorf("place %d is of node %s", s, p.Node)
				}
				got = append(got, p.Host)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoFitExplains(t *testing.T) {
	site := []hosts.Host{
		host(1, 8, 8), host(2, 4, 16), host(3, 4, 4), host(4, 16, 64, heldBy("edge-2", "w")),
		host(5, 16, 64, unusable("in error state")), host(6, 16, 64, noAddress),
	}
	for _, tc := range []struct {
		name  string
		slots []contract.Slot
		hosts []hosts.Host
		want  string
	}{
		{"counts per requirement", []contract.Slot{slot("worker-1", 8, 16)}, site,
			"worker-1 (8 CPUs, 16Gi): 6 hosts: 2 below 8 CPUs, 1 below 16Gi, 1 held by others, 1 in error state, 1 without an IP address"},
		{"no host at all", []contract.Slot{slot("worker-1", 8, 16), slot("worker-2", 8, 16)}, nil,
			"worker-1 (8 CPUs, 16Gi): there is no BareMetalHost in namespace site; also without a host: worker-2"},
		{"too few for all", []contract.Slot{slot("a", 8, 0), slot("b", 8, 0)}, site[:2],
			"a, b (8 CPUs): 2 hosts: 1 below 8 CPUs, 1 fits; together they need 2 hosts, but only 1 fits: host-1"},
		{"one host of one CPU", []contract.Slot{need("a", contract.Needs{CPU: 1, SRIOV: true, QAT: true})}, []hosts.Host{host(1, 0, 1)},
			"a (1 CPU, SR-IOV, QAT): 1 host: 1 below 1 CPU"},
		{"special hardware", []contract.Slot{need("a", contract.Needs{SRIOV: true}), need("b", contract.Needs{QAT: true})}, site[:1],
			"a (SR-IOV): 1 host: 1 without SR-IOV; also without a host: b"},
		{"slot without needs", []contract.Slot{{Name: "a"}}, site[3:5], "a: 2 hosts: 1 held by others, 1 in error state"},
		{"equal slots together", []contract.Slot{slot("a", 99, 0), slot("b", 99, 0), slot("c", 99, 0), slot("d", 99, 0), slot("e", 99, 0)}, site[:1],
			"a (99 CPUs): 1 host: 1 below 99 CPUs; also without a host: b, c, d and 1 more"},
		{"pin to nothing", []contract.Slot{pinned("p", 99)}, site, "p: none of 6 hosts has the MAC address 02:00:00:00:00:63"},
		{"pin to a held host", []contract.Slot{pinned("p", 4)}, site,
			"p: host host-4 with the MAC address 02:00:00:00:00:04 is held by Provisioning edge-2"},
		{"pin to a host in error", []contract.Slot{pinned("p", 5)}, site,
			"p: host host-5 with the MAC address 02:00:00:00:00:05 is in error state"},
		{"pin to a host without address", []contract.Slot{pinned("p", 6)}, site,
			"p: host host-6 with the MAC address 02:00:00:00:00:06 is without an IP address"},
		{"pin with a need that the host does not meet", []contract.Slot{{Name: "p", MAC: "02:00:00:00:00:03", Needs: contract.Needs{Memory: 16 * Gi}}}, site,
			"p: host host-3 with the MAC address 02:00:00:00:00:03 is below 16Gi"},
		{"two pins to one host", []contract.Slot{pinned("p", 1), {Name: "q", MAC: "02:aa:00:00:00:01"}}, []hosts.Host{host(1, 1, 1, mac("02:aa:00:00:00:01"))},
			"p: only host-1 has the MAC address 02:00:00:00:00:01; q: only host-1 has the MAC address 02:aa:00:00:00:01; together they need 2 hosts, but only 1 fits: host-1"},
		{"one address on two hosts", []contract.Slot{{Name: "p", MAC: "02:aa:00:00:00:01"}},
			[]hosts.Host{host(1, 1, 1, mac("02:aa:00:00:00:01")), host(2, 1, 1, mac("02:aa:00:00:00:01"))},
			"p: 2 hosts have the MAC address 02:aa:00:00:00:01 (host-1, host-2), so the pin is ambiguous"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := Assign(ask(tc.slots...), tc.hosts)
			var nofit *NoFit
			if !errors.As(err, &nofit) {
				t.Fatalf("Assign = %v, %v; want a NoFit", found, err)
			}
			if len(nofit.Hosts) != len(tc.hosts) {
				t.Errorf("it lists %d hosts, want %d", len(nofit.Hosts), len(tc.hosts))
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoFitExplainsPerHost(t *testing.T) {
	_, err := Assign(ask(slot("a", 8, 0), slot("b", 8, 0)), []hosts.Host{host(1, 8, 8), host(2, 4, 8)})
	var nofit *NoFit
	if !errors.As(err, &nofit) || len(nofit.Unmet) != 2 {
		t.Fatalf("Assign: %v; want both slots unmet", err)
	}
	want := map[string]string{"host-1": "needed for a", "host-2": "below 8 CPUs"}
	if diff := cmp.Diff(want, nofit.Unmet[0].Obstacles); diff != "" {
		t.Errorf("obstacles (-want +got):\n%s", diff)
	}
}

// TestAssignFrom checks that the first name matters only among equal free hosts.
func TestAssignFrom(t *testing.T) {
	all := []hosts.Host{host(1, 8, 16), host(2, 8, 16), host(3, 8, 16), host(4, 32, 64), host(5, 8, 16, heldBy(me.Name, "c"))}
	for first, want := range map[string][]string{
		"":       {"host-1", "host-2", "host-5"},
		"host-2": {"host-2", "host-3", "host-5"},
		"host-3": {"host-1", "host-3", "host-5"},
		"host-4": {"host-1", "host-2", "host-5"},
	} {
		got, err := AssignFrom(ask(slot("a", 8, 16), slot("b", 8, 16), slot("c", 8, 16)), all, first)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range got {
			names = append(names, p.Host)
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("from %q (-want +got):\n%s", first, diff)
		}
	}
}
