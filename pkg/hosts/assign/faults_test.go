package assign

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// These tests check that this package does not repeat faults that the original operator (BPA) and
// Airship's SIP have in their assignments. Each comment describes the fault. The numbers in the
// names are those of the study of both systems. Other faults are tested in packages facts, claim
// and reconciler.

func assigned(t *testing.T, request contract.Request, all []hosts.Host) string {
	t.Helper()
	found, err := Assign(request, all)
	if err != nil {
		t.Fatal(err)
	}
	return written(found)
}

func same(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assignment (-want +got):\n%s", diff)
	}
}

// A set that became smaller took all free hosts that matched. Instead, it must release hosts and
// take none.
func TestFault_SIP_4_5_1_ScaleDownTakesNoMoreHosts(t *testing.T) {
	all := join([]hosts.Host{host(1, 1, 1, running("w", 1)), host(2, 1, 1, running("w", 2)), host(3, 1, 1, running("w", 3))}, small(4, 3))
	same(t, "w-1=1", assigned(t, askSets(nodeSet("w", 1, 0)), all))
}

// A complete cluster could no longer be scheduled as soon as no host was free.
func TestFault_SIP_4_5_2_CompleteStaysComplete(t *testing.T) {
	all := []hosts.Host{host(1, 1, 1, running("w", 1)), host(2, 1, 1, running("w", 2)), host(3, 1, 1, heldBy("edge-2", "w-1"))}
	same(t, "w-1=1 w-2=2", assigned(t, askSets(nodeSet("w", 2, 0)), all))
}

// In SIP, when a set grew, the racks of its existing nodes were not counted, so that new nodes could be
// put into the same rack.
func TestFault_SIP_4_5_3_SpreadIsRemembered(t *testing.T) {
	all := join([]hosts.Host{host(9, 1, 1, in("r1"), running("w", 1))}, small(1, 1, in("r1")), small(2, 1, in("r2")))
	same(t, "w-1=9 w-2=2", assigned(t, askSets(nodeSet("w", 2, 0, over(rack, 1))), all))
}

// The spread did not limit the number of hosts without the label.
func TestFault_SIP_4_5_4_UnlabelledIsNoRack(t *testing.T) {
	all := join(small(1, 3), small(4, 1, in("r1")))
	same(t, "w-1=4", assigned(t, askSets(nodeSet("w", 1, 0, over(rack, 1))), all))
	if found, err := Assign(askSets(nodeSet("w", 3, 0, over(rack, 1))), all[:3]); err == nil {
		t.Errorf("three hosts without a rack are spread over racks: %v", found)
	}
}

// Hosts of other holders and unusable hosts were chosen.
func TestFault_SIP_4_5_5_OthersAndErrorsAreNotChosen(t *testing.T) {
	foreign := host(1, 1, 1, func(h *hosts.Host) { h.Holder = &hosts.Holder{Kind: "Metal3Machine", Name: "m"} })
	all := []hosts.Host{foreign, host(2, 1, 1, unusable("in error state")), host(3, 1, 1, unusable("paused")), host(4, 1, 1)}
	same(t, "w-1=4", assigned(t, askSets(nodeSet("w", 1, 0)), all))
}

// One unusable host was tried again and again, and other hosts were never chosen.
func TestFault_SIP_4_5_6_OneBadHostBlocksNothing(t *testing.T) {
	bad := map[string]func(*hosts.Host){"without address": noAddress, "in error": unusable("in error state"), "lost": isLost, "bare": isBare, "duplicate address": func(h *hosts.Host) { h.NICs = host(2, 1, 1).NICs }}
	for name, change := range bad {
		t.Run(name, func(t *testing.T) {
			all := join([]hosts.Host{host(1, 1, 1, change)}, small(2, 5))
			if got := assigned(t, askSets(nodeSet("w", 2, 0)), all); strings.Contains(got, "=1 ") || strings.HasSuffix(got, "=1") {
				t.Errorf("the bad host is chosen: %s", got)
			}
		})
	}
}

// Holders were compared by name, and their namespaces were ignored. A holder with our name in
// another namespace is a different one.
func TestFault_SIP_4_5_8_NamespacesAreApart(t *testing.T) {
	elsewhere := host(1, 1, 1, running("w", 1), func(h *hosts.Host) { h.Holder.Namespace = "other" })
	same(t, "w-1=2", assigned(t, askSets(nodeSet("w", 1, 0)), []hosts.Host{elsewhere, host(2, 1, 1)}))
}

// Hosts that vanished or were lost were never replaced.
func TestFault_SIP_4_5_13_LostHostsAreReplaced(t *testing.T) {
	request := askSets(nodeSet("w", 2, 0))
	request.Slots = []contract.Slot{slot("a", 0, 0)}
	quarantined := []hosts.Host{host(1, 1, 1, running("w", 1), isLost), host(2, 1, 1, running("w", 2)), host(3, 1, 1, heldBy("edge-1", "a"), isLost), host(4, 1, 1), host(5, 1, 1)}
	same(t, "a=4 w-2=2 w-3=5", assigned(t, request, quarantined))
	same(t, "a=4 w-1=5 w-2=2", assigned(t, request, []hosts.Host{quarantined[1], quarantined[3], quarantined[4]}))
}

// worker-1 was left out if worker-10 came before it, because "worker-10" contains "worker-1".
func TestFault_BPA_1_7_4_NamesInNames(t *testing.T) {
	same(t, "worker-10=1 worker-1=2", assigned(t, ask(slot("worker-10", 0, 0), slot("worker-1", 0, 0)), small(1, 2)))
	same(t, "worker-10=7 worker-1=8", assigned(t, ask(slot("worker-10", 0, 0), slot("worker-1", 0, 0)),
		[]hosts.Host{host(7, 1, 1, heldBy("edge-1", "worker-10")), host(8, 1, 1, heldBy("edge-1", "worker-1"))}))
}

// A worker whose host had no address was written into the inventory with nothing after the equals
// sign.
func TestFault_BPA_1_7_5_NoAddressNoNode(t *testing.T) {
	_, err := Assign(ask(pinned("worker-1", 1)), []hosts.Host{host(1, 1, 1, noAddress), host(2, 1, 1)})
	if err == nil || !strings.Contains(err.Error(), "without an IP address") {
		t.Errorf("Assign: %v; want a NoFit that mentions the address", err)
	}
}

// A MAC address was searched for in the whole JSON of a host, and could match another field.
func TestFault_BPA_1_7_6_PinsAreCompared(t *testing.T) {
	decoy := host(1, 1, 1, func(h *hosts.Host) { h.Name, h.MACs = "host-02:00:00:00:00:02", []string{"02:00:00:00:00:02:ff"} })
	same(t, "p=2", assigned(t, ask(pinned("p", 2)), []hosts.Host{decoy, host(2, 1, 1)}))
}

// A node that requires threads and memory and has no MAC address was rejected.
func TestFault_BPA_1_7_7_FoundByWhatItHas(t *testing.T) {
	same(t, "a=2", assigned(t, ask(slot("a", 8, 16)), []hosts.Host{host(1, 4, 8), host(2, 8, 16), host(3, 64, 256)}))
}

// The second master was rejected or appeared twice if it was also a worker. It must be one slot
// with both roles and one host.
func TestFault_BPA_1_7_9_BothRolesAreOneHost(t *testing.T) {
	both := pinned("master-2", 2)
	both.Roles = []string{contract.RoleControlPlane, contract.RoleWorker}
	found, err := Assign(ask(pinned("master-1", 1), both), small(1, 3))
	if err != nil || written(found) != "master-1=1 master-2=2" || len(found[1].Roles) != 2 {
		t.Errorf("%v, %v", found, err)
	}
}

// A host of one cluster could be given to another.
func TestFault_BPA_1_7_10_HeldHostsAreNotGivenAgain(t *testing.T) {
	_, err := Assign(ask(pinned("p", 1)), []hosts.Host{host(1, 1, 1, heldBy("edge-2", "w"))})
	if err == nil || !strings.Contains(err.Error(), "is held by Provisioning edge-2") {
		t.Errorf("Assign: %v; want a NoFit that names the holder", err)
	}
}
