package assign

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// nodeSet returns a set: nodeSet("w", 2, 1) has two active nodes and one standby.
func nodeSet(name string, active, standby int, change ...func(*contract.Set)) contract.Set {
	s := contract.Set{Name: name, Active: active, Standby: standby, Roles: []string{contract.RoleWorker}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func over(key string, maxSkew int) func(*contract.Set) {
	return func(s *contract.Set) { s.Spread = &contract.Spread{TopologyKey: key, MaxSkew: maxSkew} }
}

func softly(s *contract.Set) { s.Spread.Soft = true }

func cpus(n int) func(*contract.Set) { return func(s *contract.Set) { s.CPU = n } }

func askSets(sets ...contract.Set) contract.Request {
	return contract.Request{Spec: contract.Spec{Namespace: me.Namespace, Provisioning: me.Name, Sets: sets}}
}

// in gives a host the label of a rack.
func in(name string) func(*hosts.Host) {
	return func(h *hosts.Host) { h.Labels = map[string]string{rack: name} }
}

// running changes a host into one that is held for an active node of a set and has this node
// installed.
func running(set string, n int) func(*hosts.Host) {
	return func(h *hosts.Host) {
		heldBy(me.Name, fmt.Sprintf("%s-%d", set, n))(h)
		h.Set, h.Installed = set, true
	}
}

// standing changes a host into one that is held as a standby of a set.
func standing(set string, n int) func(*hosts.Host) {
	return func(h *hosts.Host) {
		running(set, n)(h)
		h.Installed, h.Standby = false, true
	}
}

func isLost(h *hosts.Host) { h.Lost, h.Unusable = true, "in quarantine" }

func isBare(h *hosts.Host) { h.Bare = true }

// small returns n equal free hosts with ascending numbers.
func small(from, n int, change ...func(*hosts.Host)) []hosts.Host {
	var all []hosts.Host
	for i := range n {
		all = append(all, host(from+i, 1, 1, change...))
	}
	return all
}

func join(lists ...[]hosts.Host) []hosts.Host {
	var all []hosts.Host
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// written formats an assignment on one line, with standbys in parentheses: w-1=1 w-2=2 (w-3=3).
func written(a Assignment) string {
	var parts []string
	for _, p := range a {
		text := p.Node + "=" + strings.TrimPrefix(p.Host, "host-")
		if p.Standby {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestAssignSets(t *testing.T) {
	crew := func(change ...func(*hosts.Host)) []hosts.Host { // w-1 and w-2 are installed, w-3 is a standby
		all := []hosts.Host{host(1, 1, 1, running("w", 1)), host(2, 1, 1, running("w", 2)), host(3, 1, 1, standing("w", 3))}
		for i, f := range change {
			f(&all[i])
		}
		return all
	}
	nop := func(*hosts.Host) {}
	for _, tc := range []struct {
		name string
		sets []contract.Set
		all  []hosts.Host
		want string
	}{
		{"new", []contract.Set{nodeSet("w", 2, 1)}, small(1, 5), "w-1=1 w-2=2 (w-3=3)"},
		{"two sets, the one that needs more gets the big ones", []contract.Set{nodeSet("a", 1, 0), nodeSet("b", 1, 0, cpus(8))},
			[]hosts.Host{host(1, 8, 8), host(2, 1, 1)}, "a-1=2 b-1=1"},
		{"all as it was", []contract.Set{nodeSet("w", 2, 1)}, crew(), "w-1=1 w-2=2 (w-3=3)"},
		{"standby takes the place of a lost one, and is replaced", []contract.Set{nodeSet("w", 2, 1)}, join(crew(nop, isLost), small(7, 1)), "w-1=1 w-3=3 (w-4=7)"},
		{"standby takes the place of a lost one, and no host is left", []contract.Set{nodeSet("w", 2, 1)}, crew(isLost), "w-2=2 w-3=3"},
		{"two lost, one stands by, one is new", []contract.Set{nodeSet("w", 2, 1)}, join(crew(isLost, isLost), small(7, 1)), "w-3=3 w-4=7"},
		{"trouble of an installed host is no loss", []contract.Set{nodeSet("w", 2, 1)}, join(crew(unusable("in error state")), small(7, 1)), "w-1=1 w-2=2 (w-3=3)"},
		{"trouble of a standby host is", []contract.Set{nodeSet("w", 2, 1)}, join(crew(nop, nop, unusable("in error state")), small(7, 1)), "w-1=1 w-2=2 (w-4=7)"},
		{"trouble before the installation is", []contract.Set{nodeSet("w", 1, 0)},
			join([]hosts.Host{host(1, 1, 1, running("w", 1), func(h *hosts.Host) { h.Installed = false }, unusable("paused"))}, small(7, 1)), "w-2=7"},
		{"grows", []contract.Set{nodeSet("w", 3, 1)}, join(crew(), small(7, 2)), "w-1=1 w-2=2 w-3=3 (w-4=7)"},
		{"more standby than there are hosts", []contract.Set{nodeSet("w", 2, 5)}, join(crew(), small(7, 2)), "w-1=1 w-2=2 (w-3=3) (w-4=7) (w-5=8)"},
		{"shrinks: no active one becomes standby", []contract.Set{nodeSet("w", 1, 1)}, crew(), "w-1=1 (w-3=3)"},
		{"shrinks to standby, which is new", []contract.Set{nodeSet("w", 1, 2)}, join(crew(), small(7, 1)), "w-1=1 (w-3=3) (w-4=7)"},
		{"a gap in the numbers is filled", []contract.Set{nodeSet("w", 2, 0)}, join([]hosts.Host{host(9, 1, 1, running("w", 2))}, small(1, 1)), "w-1=1 w-2=9"},
		{"installed hosts stay though more is asked now", []contract.Set{nodeSet("w", 2, 0, cpus(64))}, crew(), "w-1=1 w-2=2"},
		{"a slot's name is not given twice", []contract.Set{nodeSet("w", 1, 0)}, []hosts.Host{host(1, 1, 1), host(2, 1, 1, heldBy("edge-1", "w-1"))}, "w-2=2"},
		{"by racks", []contract.Set{nodeSet("w", 2, 1, over(rack, 1))},
			join(small(1, 3, in("r1")), small(4, 1, in("r2")), small(5, 1, in("r3"))), "w-1=1 w-2=4 (w-3=5)"},
		{"the active ones are spread by themselves", []contract.Set{nodeSet("w", 2, 2, over(rack, 1))},
			join(small(1, 2, in("r1")), small(3, 2, in("r2"))), "w-1=1 w-2=3 (w-3=2) (w-4=4)"},
		{"promoted from the emptiest rack", []contract.Set{nodeSet("w", 3, 1, over(rack, 2))}, []hosts.Host{
			host(1, 1, 1, in("r1"), running("w", 1)), host(2, 1, 1, in("r1"), running("w", 2)), host(3, 1, 1, in("r1"), standing("w", 3)), host(4, 1, 1, in("r2"), standing("w", 4)),
		}, "w-1=1 w-2=2 w-4=4 (w-3=3)"},
		{"a rack that is poor decides for all", []contract.Set{nodeSet("w", 3, 0, over(rack, 2))},
			join(small(1, 3, in("r1")), small(4, 1, in("r2"))), "w-1=1 w-2=2 w-3=4"},
		{"softly: as even as it goes", []contract.Set{nodeSet("w", 4, 0, over(rack, 1), softly)},
			join(small(1, 4, in("r1")), small(5, 1, in("r2"))), "w-1=1 w-2=2 w-3=3 w-4=5"},
		{"softly: hosts without the label last", []contract.Set{nodeSet("w", 3, 0, over(rack, 1), softly)},
			join(small(1, 3), small(4, 1, in("r1")), small(5, 1, in("r2"))), "w-1=1 w-2=4 w-3=5"},
		{"softly: no host that we hold moves for it", []contract.Set{nodeSet("w", 2, 0, over(rack, 1), softly)},
			join([]hosts.Host{host(8, 1, 1, in("r1"), standing("w", 1)), host(9, 1, 1, in("r1"), standing("w", 2))}, small(1, 1, in("r2"))), "w-1=8 w-2=9"},
		{"nodes that run where there is a new rack stay", []contract.Set{nodeSet("w", 2, 0, over(rack, 1))},
			[]hosts.Host{host(1, 1, 1, in("r1"), running("w", 1)), host(2, 1, 1, in("r1"), running("w", 2)), host(3, 1, 1, in("r2"))}, "w-1=1 w-2=2"},
		{"no operating system and no image", []contract.Set{nodeSet("w", 1, 0)}, []hosts.Host{host(1, 1, 1, isBare), host(2, 8, 8)}, "w-1=2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := Assign(askSets(tc.sets...), tc.all)
			if diff := cmp.Diff(tc.want, written(found)); err != nil || diff != "" {
				t.Errorf("%v, assignment (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestBareHosts(t *testing.T) {
	request := askSets(nodeSet("w", 1, 0))
	request.OSImage = &contract.OSImage{URL: namedImage}
	for _, tc := range []struct {
		name string
		all  []hosts.Host
		want string
	}{
		{"otherwise equal: the host with the operating system", []hosts.Host{host(1, 2, 2, isBare), host(2, 2, 2, runs(namedImage))}, "w-1=2"},
		{"a small host without it before a big one with it", []hosts.Host{host(1, 2, 2, isBare), host(2, 8, 8, runs(namedImage))}, "w-1=1"},
	} {
		if found, err := Assign(request, tc.all); err != nil || written(found) != tc.want {
			t.Errorf("%s: %s, %v; want %s", tc.name, written(found), err, tc.want)
		}
	}
}

func TestLostNodesKeepTheirNames(t *testing.T) {
	request := askSets(nodeSet("w", 2, 0))
	request.Lost = []string{"w-1"}
	found, err := Assign(request, []hosts.Host{host(1, 1, 1), host(2, 1, 1, running("w", 2))})
	if want := "w-2=2 w-3=1"; err != nil || written(found) != want {
		t.Errorf("%s, %v; want %s", written(found), err, want)
	}
}

func TestInstalledHostsThatLackSomethingAreReported(t *testing.T) {
	found, err := Assign(askSets(nodeSet("w", 1, 0, cpus(8))), []hosts.Host{host(1, 1, 1, running("w", 1)), host(2, 8, 8)})
	if err != nil || len(found) != 1 || found[0].Host != "host-1" || found[0].Lacks != "below 8 CPUs" {
		t.Errorf("%+v, %v; want host-1, which is below 8 CPUs", found, err)
	}
}

// The only active node of the set has lost its host, which no longer exists. Only the request still
// lists the host as installed. The standby takes the place of the active node.
func TestStandbyTakesThePlaceOfTheOnlyActive(t *testing.T) {
	standby := host(2, 1, 1, heldBy("edge-1", "w-2"), func(h *hosts.Host) { h.Set, h.Standby = "w", true })
	request := askSets(nodeSet("w", 1, 1))
	request.Installed, request.Lost = []string{"host-0"}, []string{"w-1"}
	same(t, "w-2=2", assigned(t, request, []hosts.Host{standby}))
	request.Installed = nil
	if found, err := Assign(request, []hosts.Host{standby}); err == nil {
		t.Errorf("%s: a first claim without a standby host", written(found))
	}
}

func TestMissingStandbyIsReported(t *testing.T) {
	request := askSets(nodeSet("w", 1, 2), nodeSet("v", 0, 0))
	found, err := Assign(request, []hosts.Host{host(1, 1, 1, running("w", 1)), host(2, 1, 1)})
	if diff := cmp.Diff(map[string]int{"w": 1}, found.MissingStandby(request)); err != nil || diff != "" {
		t.Errorf("%v, missing (-want +got):\n%s", err, diff)
	}
}

func TestNoFitExplainsSets(t *testing.T) {
	for _, tc := range []struct {
		name string
		sets []contract.Set
		all  []hosts.Host
		want string
	}{
		{"too few", []contract.Set{nodeSet("w", 4, 1, cpus(2))}, join(small(1, 2), []hosts.Host{host(3, 2, 2), host(4, 2, 2)}),
			"w (5 nodes, 2 CPUs): 4 hosts: 2 below 2 CPUs, 2 fit; it needs 5 hosts, but only 2 fit: host-3, host-4; also without a host: 2 of w"},
		{"no standby host at the first claim", []contract.Set{nodeSet("w", 1, 1)}, small(1, 1),
			"w (2 nodes): 1 host: 1 fits; it needs 2 hosts, but only 1 fits: host-1"},
		{"two sets together", []contract.Set{nodeSet("a", 2, 0, cpus(1)), nodeSet("b", 1, 0, cpus(2))}, []hosts.Host{host(1, 2, 2), host(2, 4, 4)},
			"a (2 nodes, 1 CPU): 2 hosts: 2 fit; b (1 node, 2 CPUs): 2 hosts: 2 needed for other nodes; " +
				"together they need 3 hosts, but only 2 fit: host-1, host-2"},
		{"a rack is poor", []contract.Set{nodeSet("w", 6, 0, over(rack, 1))}, join(small(1, 5, in("r1")), small(6, 1, in("r2")), small(7, 2, in("r3"))),
			"w (6 nodes): 8 hosts: 8 fit; rack: r2 has 1 fitting host, r3 has 2 fitting hosts, r1 has 5 fitting hosts; " +
				"maxSkew 1 allows at most 5 nodes of w (maxSkew 2 would be enough)"},
		{"what runs counts, however uneven", []contract.Set{nodeSet("w", 5, 0, over(rack, 1))},
			[]hosts.Host{host(1, 1, 1, in("r1"), running("w", 1)), host(2, 1, 1, in("r1"), running("w", 2)), host(3, 1, 1, in("r1"), running("w", 3)), host(4, 1, 1, in("r1")), host(5, 1, 1, in("r2"))},
			"w (2 nodes): 5 hosts: 3 already installed, 2 fit; rack: r2 has 1 fitting host, r1 has 4 fitting hosts; " +
				"maxSkew 1 allows at most 4 nodes of w (maxSkew 3 would be enough)"},
		{"no label", []contract.Set{nodeSet("w", 1, 0, over(rack, 1))}, small(1, 2),
			"w (1 node): 2 hosts: 2 fit; rack: no fitting host has this label; maxSkew 1 allows at most 0 nodes of w (without the spread, all nodes would have hosts)"},
		{"no image", []contract.Set{nodeSet("w", 1, 0)}, small(1, 2, isBare),
			"w (1 node): 2 hosts: 2 without an operating system (spec.osImage is not set)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found, err := Assign(askSets(tc.sets...), tc.all)
			var nofit *NoFit
			if !errors.As(err, &nofit) {
				t.Fatalf("Assign = %v, %v; want a NoFit", found, err)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGivesUpAloud checks the error if the search gives up. Many sets have wide spreads, so there
// are more combinations than the search tries.
func TestGivesUpAloud(t *testing.T) {
	var sets []contract.Set
	all := join(small(1, 60, in("r1")), small(61, 20, in("r2")), small(81, 1, in("r3")))
	for n := range 8 {
		sets = append(sets, nodeSet(string(rune('a'+n)), 9, 0, over(rack, 6)))
	}
	_, err := Assign(askSets(sets...), all)
	var nofit *NoFit
	if !errors.As(err, &nofit) || !nofit.GaveUp || !strings.Contains(err.Error(), "gave up after 64 combinations") || len(err.Error()) > 900 {
		t.Errorf("Assign: %v; want a NoFit that says that it gave up", err)
	}
}

func TestNoFitIsShort(t *testing.T) {
	long := strings.Repeat("x", 63)
	var slots []contract.Slot
	for n := range 200 {
		s := slot(fmt.Sprintf("%s-%d", long, n), n/4+1, 0)
		s.Vendor, s.CPUModel = long+long+long, strings.Repeat("ü", 200)
		slots = append(slots, s)
	}
	all := small(1, 30, func(h *hosts.Host) { h.Name, h.Unusable = strings.Repeat(h.Name, 20), strings.Repeat(h.Name+" ", 30) })
	_, err := Assign(ask(slots...), all)
	if err == nil || len(err.Error()) > 900 {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}
