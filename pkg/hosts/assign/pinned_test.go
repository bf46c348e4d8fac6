package assign

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// mastersInTheirOwnRack requests three masters that are pinned to hosts 1 to 3 in rack r0, and
// workers that are spread over the racks. Racks r1 and r2 have two hosts each.
func mastersInTheirOwnRack(workers int) (contract.Request, []hosts.Host) {
	request := ask(pinned("m-1", 1), pinned("m-2", 2), pinned("m-3", 3))
	request.Sets = []contract.Set{nodeSet("w", workers, 0, over(rack, 1))}
	return request, join(small(1, 3, in("r0")), small(4, 2, in("r1")), small(6, 2, in("r2")))
}

// TestPinnedHostsMakeNoDomain checks a rack whose hosts are all pinned to slots. The rack can have
// no node of a set, so it must not count for the set's spread, neither before the installation nor
// after it.
func TestPinnedHostsMakeNoDomain(t *testing.T) {
	request, all := mastersInTheirOwnRack(4)
	const want = "m-1=1 m-2=2 m-3=3 w-1=4 w-2=5 w-3=6 w-4=7"
	same(t, want, assigned(t, request, all))
	for i, node := range []string{"m-1", "m-2", "m-3"} {
		heldBy(me.Name, node)(&all[i])
		all[i].Installed = true
	}
	same(t, want, assigned(t, request, all))
}

// TestHostsBesidesThePinnedMakeADomain checks a rack that has pinned hosts and one host for the
// set. The rack counts for the set's spread, and limits the number of nodes in other racks.
func TestHostsBesidesThePinnedMakeADomain(t *testing.T) {
	request, all := mastersInTheirOwnRack(5)
	all = append(all, host(8, 1, 1, in("r0")), host(9, 1, 1, in("r1")), host(10, 1, 1, in("r2")))
	same(t, "m-1=1 m-2=2 m-3=3 w-1=10 w-2=4 w-3=5 w-4=6 w-5=8", assigned(t, request, all))
	request.Sets[0].Active = 6
	noFit(t, request, all, "w (6 nodes): 10 hosts: 3 pinned to other nodes, 7 fit; rack: r0 has 1 fitting host, r1 has 3 fitting hosts, r2 has 3 fitting hosts; "+
		"maxSkew 1 allows at most 5 nodes of w (maxSkew 2 would be enough)")
}

// TestPinnedHostsAreExplained checks that a pinned host is not counted as a host for a set.
func TestPinnedHostsAreExplained(t *testing.T) {
	request, all := mastersInTheirOwnRack(5)
	e := noFit(t, request, all, "w (5 nodes): 7 hosts: 3 pinned to other nodes, 4 fit; it needs 5 hosts, but only 4 fit: host-4, host-5, host-6 and 1 more")
	same(t, "pinned to m-2", e.Unmet[0].Obstacles["host-2"])
}

// noFit requires that no assignment exists, and that the error has this message.
func noFit(t *testing.T, request contract.Request, all []hosts.Host, want string) *NoFit {
	t.Helper()
	found, err := Assign(request, all)
	var e *NoFit
	if !errors.As(err, &e) {
		t.Fatalf("Assign = %v, %v; want a NoFit", found, err)
	}
	if diff := cmp.Diff(want, e.Error()); diff != "" {
		t.Errorf("explanation (-want +got):\n%s", diff)
	}
	return e
}
