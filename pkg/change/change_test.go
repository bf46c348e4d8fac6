package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// rolesOf returns the roles of a node or of a node set: names that begin with m are control planes,
// names that begin with b are both, and all others are workers.
func rolesOf(name string) []string {
	switch name[0] {
	case 'm':
		return []string{contract.RoleControlPlane}
	case 'b':
		return []string{contract.RoleControlPlane, contract.RoleWorker}
	}
	return []string{contract.RoleWorker}
}

// node returns the node of a word: its name, and after @ the MAC address of its host. SET-NUMBER is a
// node of a set.
func node(word string) contract.Node {
	name, mac, _ := strings.Cut(word, "@")
	n := contract.Node{Name: name, Roles: rolesOf(name), Host: "host-of-" + name, HostUID: "uid-of-" + name}
	n.Set, _, _ = strings.Cut(name, "-")
	if n.Set == name {
		n.Set = ""
	}
	if mac != "" {
		n.MACs = []string{mac}
	}
	return n
}

// wanted returns the request of words: NAME[@MAC] is a node, SET=ACTIVE[/STANDBY] is a node set.
func wanted(words string) contract.Request {
	r := contract.Request{Spec: contract.Spec{PodSubnet: "10.0.0.0/16", KubernetesVersion: "1.35.4"}}
	for _, word := range strings.Fields(words) {
		if name, numbers, ok := strings.Cut(word, "="); ok {
			active, standby, _ := strings.Cut(numbers, "/")
			set := contract.Set{Name: name, Roles: rolesOf(name)}
			set.Active, _ = strconv.Atoi(active)
			set.Standby, _ = strconv.Atoi(standby)
			r.Sets = append(r.Sets, set)
			continue
		}
		name, mac, _ := strings.Cut(word, "@")
		r.Slots = append(r.Slots, contract.Slot{Name: name, Roles: rolesOf(name), MAC: mac})
	}
	return r
}

// installed returns the record of a cluster with these nodes, which was installed from the request.
// etcd's members have names.
func installed(nodes, request string) contract.Installed {
	in := contract.Installed{Request: wanted(request).Spec}
	for _, word := range strings.Fields(nodes) {
		in.Nodes = append(in.Nodes, node(word))
	}
	for i, m := range etcdMembers(in.Nodes) {
		j := slices.IndexFunc(in.Nodes, func(n contract.Node) bool { return n.Name == m.Name })
		in.Nodes[j].Etcd = fmt.Sprintf("etcd%d", i+1)
	}
	return in
}

func describe(steps []Step) (texts []string) {
	for _, step := range steps {
		text := step.Operation + ": " + step.String()
		if r := step.Request.Remove; r != nil && r.DrainSeconds == 0 {
			text += " (no drain)"
		}
		texts = append(texts, text)
	}
	return texts
}

func TestPlan(t *testing.T) {
	type row struct {
		name, nodes, was, want string
		change                 func(*State)
		plan                   []string
	}
	lost := func(names ...string) func(*State) {
		return func(s *State) {
			for _, name := range names {
				s.Lost[strings.TrimSuffix(name, "!")] = !strings.HasSuffix(name, "!") // !: it is not replaced
			}
		}
	}
	alive := func(names ...string) func(*State) { // lost, and to be replaced; !: it works
		return func(s *State) {
			for _, name := range names {
				name, works := strings.CutSuffix(name, "!")
				if s.Lost[name] = true; works {
					s.Alive = append(s.Alive, name)
				}
			}
		}
	}
	unfinished := func(words string) func(*State) {
		return func(s *State) {
			for _, word := range strings.Fields(words) {
				s.Unfinished = append(s.Unfinished, node(word))
			}
		}
	}
	for _, r := range []row{
		{"nothing to do", "m1 w1", "m1 w1", "m1 w1", nil, nil},
		{"a node that works in quarantine is drained before it is replaced", "m1 w1 w2", "m1 w1 w2", "m1 w1 w2", alive("w1!"), []string{"remove-nodes: remove w1", "add-nodes: add w1"}},
		{"one after the other", "m1 w1 s-1", "m1 w1 s=1", "m1 w1 s=1", alive("w1!", "s-1!"),
			[]string{"remove-nodes: remove w1", "add-nodes: add w1", "remove-nodes: remove s-1", "add-nodes: add 1 node of s"}},
		{"after those that do not work", "m1 w1 w2", "m1 w1 w2", "m1 w1 w2", alive("w1!", "w2"), []string{"add-nodes: replace w2", "remove-nodes: remove w1", "add-nodes: add w1"}},
		{"a control plane that works in quarantine", "m1 m2 m3", "m1 m2 m3", "m1 m2 m3", alive("m1!"), []string{"remove-control-plane: remove m1", "add-control-plane: add m1"}},
		{"during an upgrade it is replaced", "m1 m2 m3", "m1 m2 m3", "m1 m2 m3", func(s *State) {
			alive("m1!")(s)
			s.Wanted.Vars = map[string]json.RawMessage{"a": json.RawMessage("1")}
		}, []string{"add-control-plane: replace m1", "upgrade-control-plane: give m2 the requested settings", "upgrade-control-plane: give m3 the requested settings",
			"upgrade-control-plane: give m1 the requested settings"}},
		{"it is not requested any more", "m1 s-1 s-2", "m1 s=2", "m1 s=1", alive("s-1!"), []string{"remove-nodes: remove s-1"}},
		{"it is not replaced now", "m1 w1", "m1 w1", "m1 w1", func(s *State) { s.Lost["w1"], s.Alive = false, []string{"w1"} }, nil},
		{"workers are added in one run", "m1 w1", "m1 w1", "m1 w1 w2 w3", nil, []string{"add-nodes: add w2, w3"}},
		{"a set grows", "m1 s-1", "m1 s=1", "m1 s=3", nil, []string{"add-nodes: add 2 nodes of s"}},
		{"a set shrinks", "m1 s-1 s-2 s-3", "m1 s=3", "m1 s=1", nil, []string{"remove-nodes: remove 2 nodes of s"}},
		{"a set is removed", "m1 w1 s-1 s-2", "m1 w1 s=2", "m1 w1", nil, []string{"remove-nodes: remove s-1, s-2"}},
		{"a set gets no active nodes", "m1 s-1 s-2", "m1 s=2", "m1 s=0/1", nil, []string{"add-nodes: claim standby hosts", "remove-nodes: remove 2 nodes of s"}},
		{"additions come first", "m1 w1", "m1 w1", "m1 w2", nil, []string{"add-nodes: add w2", "remove-nodes: remove w1"}},
		{"removals come first if a host is needed", "m1 w1", "m1 w1", "m1 w2", func(s *State) { s.RemoveFirst = true },
			[]string{"remove-nodes: remove w1", "add-nodes: add w2"}},
		{"standby hosts are claimed", "m1 s-1", "m1 s=1", "m1 s=1/1", nil, []string{"add-nodes: claim standby hosts"}},
		{"standby hosts are not claimed by a removal", "m1 w1 s-1", "m1 w1 s=1", "m1 s=1/1", func(s *State) { s.RemoveFirst = true },
			[]string{"remove-nodes: remove w1", "add-nodes: claim standby hosts"}},
		{"fewer standby hosts need no run", "m1 s-1", "m1 s=1/2", "m1 s=1", nil, nil},
		{"control planes one by one", "m1 w1", "m1 w1", "m1 m2 m3 w1", nil, []string{"add-control-plane: add m2", "add-control-plane: add m3"}},
		{"control planes before workers", "m1 w1", "m1 w1", "m1 m2 m3 w1 w2", nil,
			[]string{"add-control-plane: add m2", "add-control-plane: add m3", "add-nodes: add w2"}},
		{"back to one control plane", "m1 m2 m3 w1", "m1 m2 m3 w1", "m1 w1", nil,
			[]string{"remove-control-plane: remove m2", "remove-control-plane: remove m3"}},
		{"the first control plane leaves", "m1 m2 m3", "m1 m2 m3", "m2 m3", nil, []string{"remove-control-plane: remove m1"}},
		{"a set of control planes grows", "m-1", "m=1", "m=3", nil, []string{"add-control-plane: add 1 node of m", "add-control-plane: add 1 node of m"}},
		{"a set of control planes shrinks", "m-1 m-2 m-3", "m=3", "m=1", nil,
			[]string{"remove-control-plane: remove 1 node of m", "remove-control-plane: remove 1 node of m"}},
		{"three control planes are exchanged", "m1 m2 m3", "m1 m2 m3", "m4 m5 m6", nil, []string{
			"add-control-plane: add m4", "add-control-plane: add m5", "remove-control-plane: remove m1",
			"add-control-plane: add m6", "remove-control-plane: remove m2", "remove-control-plane: remove m3"}},
		{"one of three control planes is exchanged", "m1 m2 m3", "m1 m2 m3", "m1 m2 m4", nil,
			[]string{"remove-control-plane: remove m3", "add-control-plane: add m4"}},
		{"three control planes become another one", "m1 m2 m3", "m1 m2 m3", "m4", nil, []string{"remove-control-plane: remove m1",
			"add-control-plane: add m4", "remove-control-plane: remove m2", "remove-control-plane: remove m3"}},
		{"a set of control planes becomes a node", "m-1 m-2 m-3", "m=3", "m=2 m4", nil,
			[]string{"remove-control-plane: remove 1 node of m", "add-control-plane: add m4"}},
		{"the only member of etcd cannot leave", "m1 w1", "m1 w1", "m2 w1", nil, []string{"add-control-plane: add m2"}},
		{"one of two control planes that is no member of etcd leaves", "m1 m2 w1", "m1 m2 w1", "m1 w1", nil, []string{"remove-control-plane: remove m2"}},
		{"the last control plane does not move", "m1@a w1", "m1@a w1", "m1@b w1", nil, nil},
		{"a worker moves to another host", "m1 w1@a", "m1 w1@a", "m1 w1@b", nil, []string{"remove-nodes: remove w1", "add-nodes: add w1"}},
		{"a control plane moves to another host", "m1@a m2 m3", "m1@a m2 m3", "m1@b m2 m3", nil,
			[]string{"remove-control-plane: remove m1", "add-control-plane: add m1"}},
		{"a node is pinned to the host that it has", "m1 w1@a", "m1 w1", "m1 w1@a", nil, nil},
		{"a node is not pinned any more", "m1 w1@a", "m1 w1@a", "m1 w1", nil, nil},
		{"a node is pinned to a new network card of its host", "m1 w1@a", "m1 w1@a", "m1 w1@b", func(s *State) { s.MACs = map[string][]string{"w1": {"b"}} }, nil},
		{"a lost worker is replaced", "m1 w1 w2", "m1 w1 w2", "m1 w1 w2", lost("w1"), []string{"add-nodes: replace w1"}},
		{"a lost worker is not replaced", "m1 w1 w2", "m1 w1 w2", "m1 w1 w2", lost("w1!"), nil},
		{"nothing is added while a lost worker is not replaced", "m1 w1 w2", "m1 w1 w2", "m1 w1 w2 w3", lost("w1!"), nil},
		{"a lost worker is replaced while another is not", "m1 s-1 s-2", "m1 s=2/1", "m1 s=3/2", lost("s-1", "s-2!"), []string{"add-nodes: replace s-1"}},
		{"a lost control plane is replaced while a lost worker is not", "m1 m2 m3 w1", "m1 m2 m3 w1", "m1 m2 m3 w1 w2", lost("m2", "w1!"),
			[]string{"add-control-plane: replace m2"}},
		{"nodes are removed while a lost worker is not replaced", "m1 w1 w2", "m1 w1 w2", "m1 w1 w3", lost("w1!"), []string{"remove-nodes: remove w2"}},
		{"a lost worker is removed before others, and drained if it is Ready", "m1 w1 w2 w3", "m1 w1 w2 w3", "m1 w3", lost("w1!"),
			[]string{"remove-nodes: remove w1", "remove-nodes: remove w2"}},
		{"the lost node of a set leaves first", "m1 s-1 s-2", "m1 s=2", "m1 s=1", lost("s-2"), []string{"remove-nodes: remove s-2"}},
		{"a lost worker moves to another host", "m1 w1@a", "m1 w1@a", "m1 w1@b", lost("w1!"), []string{"remove-nodes: remove w1", "add-nodes: add w1"}},
		{"a lost worker that may be replaced moves too", "m1 w1@a", "m1 w1@a", "m1 w1@b", lost("w1"),
			[]string{"remove-nodes: remove w1", "add-nodes: add w1"}},
		{"a lost control plane is replaced first", "m1 m2 m3 w1", "m1 m2 m3 w1", "m1 m2 m3 w1 w2", lost("m2", "w1"),
			[]string{"add-control-plane: replace m2", "add-nodes: replace w1; add w2"}},
		{"a lost control plane is removed before another is added", "m1 m2 m3", "m1 m2 m3", "m1 m2 m4", lost("m3!"),
			[]string{"remove-control-plane: remove m3", "add-control-plane: add m4"}},
		{"etcd has no majority", "m1 m2 m3 w1", "m1 m2 m3 w1", "m1 m2 m3 w2", lost("m1", "m2"), nil},
		{"etcd would have no majority", "m1 m2 m3", "m1 m2 m3", "m1 m2", lost("m1!"), nil},
		{"a lost control plane that is no member of etcd", "m1 m2 w1", "m1 m2 w1", "m1 m2 w1", lost("m2"), []string{"add-control-plane: replace m2"}},
		{"two of five control planes are lost", "m1 m2 m3 m4 m5", "m1 m2 m3 m4 m5", "m1 m2 m3 m4 m5", lost("m1", "m2"),
			[]string{"add-control-plane: replace m1", "add-control-plane: replace m2"}},
		{"an unfinished node is added again", "m1 w1", "m1 w1", "m1 w1 w2", unfinished("w2"), []string{"add-nodes: add w2"}},
		{"an unfinished node is not requested any more", "m1 w1", "m1 w1", "m1 w1", unfinished("w2"), []string{"remove-nodes: remove w2"}},
		{"an unfinished node is pinned to another host", "m1 w1", "m1 w1", "m1 w1 w2@b", unfinished("w2@a"),
			[]string{"remove-nodes: remove w2", "add-nodes: add w2"}},
		{"unfinished nodes of a set", "m1 s-1", "m1 s=1", "m1 s=2", unfinished("s-2 s-3"), []string{"add-nodes: add 1 node of s", "remove-nodes: remove s-3"}},
		{"an unfinished control plane of a set", "m1", "m1", "m1", unfinished("m-1"), []string{"remove-control-plane: remove m-1"}},
		{"an unfinished host without a node", "m1", "m1", "m1", unfinished("host7"), []string{"remove-nodes: remove host7"}},
		{"a drained node leaves even if it is requested again", "m1 w1", "m1 w1", "m1 w1", func(s *State) { s.Installed.Leaving = []string{"w1"} },
			[]string{"remove-nodes: remove w1", "add-nodes: add w1"}},
		{"a cordoned node is requested again", "m1 w1", "m1 w1", "m1 w1", func(s *State) { s.Installed.Draining = []string{"w1"} },
			[]string{"remove-nodes: uncordon w1"}},
		{"a control plane stays a worker", "b1", "b1", "m1 w1", nil, []string{"add-nodes: add w1"}},
		{"a node moves into a set", "m1 w1", "m1 w1", "m1 s=1", nil, []string{"add-nodes: add 1 node of s", "remove-nodes: remove w1"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := State{Installed: installed(r.nodes, r.was), Wanted: wanted(r.want), Lost: map[string]bool{}, DrainSeconds: 60}
			if strings.HasPrefix(r.nodes, "b1") { // the implied role
				s.Wanted.Slots[0].Name, s.Installed.Nodes[0].Name = "m1", "m1"
			}
			if r.change != nil {
				r.change(&s)
			}
			if diff := cmp.Diff(r.plan, describe(Plan(s))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, r := range []struct {
		name, nodes, want string
		change            func(*State)
		refused           []string
		blocks            bool
	}{
		{"nothing", "m1 w1", "m1 w1", nil, nil, false},
		{"a subnet", "m1", "m1", func(s *State) { s.Wanted.PodSubnet = "10.9.0.0/16" }, []string{"spec.PodSubnet: 10.0.0.0/16 -> 10.9.0.0/16"}, true},
		{"the network plugin", "m1", "m1", func(s *State) { s.Wanted.NetworkPlugin = "cilium" }, []string{"spec.kubernetes.networkPlugin: none -> cilium"}, true},
		{"the version", "m1", "m1", func(s *State) { s.Wanted.KubernetesVersion = "1.36.0" },
			[]string{"kubespray v2.31.0 does not know Kubernetes 1.36.0: it has no checksums for it"}, false},
		{"variables that are stored in another form", "m1", "m1", func(s *State) {
			s.Installed.Request.Vars = map[string]json.RawMessage{"a": json.RawMessage("{\n  \"x\": [\n    1\n  ],\n  \"b\": 2\n}")}
			s.Wanted.Vars = map[string]json.RawMessage{"a": json.RawMessage(`{"b":2,"x":[1]}`)}
		}, nil, false},
		{"an upgrade", "m1", "m1", func(s *State) { at("1.34.3", "")(s); s.Wanted.Vars = vars("1") }, nil, false},
		{"a downgrade", "m1", "m1", func(s *State) { s.Wanted.KubernetesVersion = "1.34.3" },
			[]string{"the cluster has Kubernetes 1.35.4, and a downgrade to 1.34.3 is not supported: an older API server may not be able to read what a newer one has stored"}, false},
		{"back to the version before an upgrade that has begun", "m1 m2 m3", "m1 m2 m3", func(s *State) { at("1.34.3", "m1=1.35.4")(s); s.Wanted.KubernetesVersion = "1.34.3" },
			[]string{"the cluster has Kubernetes 1.35.4, and a downgrade to 1.34.3 is not supported: an older API server may not be able to read what a newer one has stored"}, false},
		{"a variable that cannot change", "m1", "m1", func(s *State) {
			s.Wanted.Vars = map[string]json.RawMessage{"a": json.RawMessage("1"), "dns_domain": json.RawMessage(`"a"`)}
		}, []string{"the kubespray variable dns_domain cannot change in a running cluster: the names of Services and the certificates contain the domain"}, false},
		{"an older release", "m1", "m1", func(s *State) { s.Wanted.Release = "v2.30.0" },
			[]string{"the cluster has kubespray release v2.31.0, and the older release v2.30.0 would downgrade its components"}, false},
		{"the release before an upgrade that has begun", "m1 m2 m3", "m1 m2 m3", func(s *State) {
			s.Installed.Nodes[0].Settings = contract.Request{Spec: contract.Spec{Release: "v2.32.0"}}.Settings()
		}, []string{"the cluster has kubespray release v2.32.0, and the older release v2.31.0 would downgrade its components"}, false},
		{"access", "m1", "m1", func(s *State) { s.Wanted.Access.Interface = "eth1" }, []string{"spec.access selects other addresses"}, true},
		{"a worker becomes a control plane", "m1 w1", "m1 w1", func(s *State) { s.Wanted.Slots[1].Roles = rolesOf("m") }, []string{"the role of node w1"}, true},
		{"a set changes its role", "m1 s-1", "m1 s=1", func(s *State) { s.Wanted.Sets[0].Roles = rolesOf("m") }, []string{"the role of node set s"}, true},
		{"the implied role is kept", "b1", "b1 w1", func(s *State) { s.Wanted.Slots[0].Roles = rolesOf("m") }, nil, false},
		{"the last control plane moves", "m1@a w1", "m1@b w1", nil,
			[]string{"node m1 cannot move to another host: it is the last control plane; to remove the cluster, delete the Provisioning"}, false},
		{"the only member of etcd", "m1 m2", "m2", nil,
			[]string{"node m1 cannot be removed: it is the only member of etcd; add control planes until there are 3, and remove it after that"}, false},
		{"the majority of etcd", "m1 m2 m3", "m1 m2", func(s *State) { s.Lost["m1"] = false },
			[]string{"node m3 cannot be removed: etcd would lose its majority; restore or replace the lost control planes first"}, false},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := State{Installed: installed(r.nodes, ""), Wanted: wanted(r.want), Lost: map[string]bool{}}
			s.Installed.Request = wanted(strings.Join(strings.Fields(r.nodes), " ")).Spec
			if r.change != nil {
				r.change(&s)
			}
			var texts []string
			blocks := false
			for _, refusal := range Refused(s) {
				texts, blocks = append(texts, refusal.Text), blocks || refusal.Blocks
			}
			if diff := cmp.Diff(r.refused, texts); diff != "" || blocks != r.blocks {
				t.Errorf("blocks: %v, refused (-want +got):\n%s", blocks, diff)
			}
		})
	}
}

// TestRequestOfAStep: everything is as installed except what the step changes.
func TestRequestOfAStep(t *testing.T) {
	s := State{Installed: installed("m1 w1 w2@b s-1", "m1 w1 w2@b s=1"), Wanted: wanted("m1 w1 w2 w3 s=2/1"), DrainSeconds: 60, Lost: map[string]bool{}}
	s.Wanted.PodSubnet, s.Wanted.KubernetesVersion, s.Wanted.SSHUser = "other", "other", "admin"
	step, _ := Next(s)
	want := wanted("m1 w1 w2 w3 s=2/1")
	want.SSHUser, want.Operation, want.Members, want.Complete = "admin", contract.OperationAddNodes, s.Installed.Nodes, true
	if diff := cmp.Diff(want, step.Request); diff != "" {
		t.Errorf("request of an addition (-want +got):\n%s", diff)
	}
	s.Wanted = wanted("m1 w2 s=0/1")
	s.RemoveFirst = true
	s.Domains, s.Trouble = map[string]string{"s-1": "rack-1"}, []string{"s-1"}
	step, _ = Next(s)
	want = wanted("m1 w2")
	want.Operation, want.Members, want.Complete = contract.OperationRemoveNodes, s.Installed.Nodes, true
	want.Remove = &contract.Removal{Nodes: []string{"w1"}, DrainSeconds: 60, Sets: []contract.SetRemoval{
		{Name: "s", Count: 1, Candidates: []contract.Candidate{{Node: "s-1", Domain: "rack-1", Trouble: true}}},
	}}
	if diff := cmp.Diff(want, step.Request, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("request of a removal (-want +got):\n%s", diff)
	}
}

// TestKeptRole: a control plane that was also a worker stays one in the requests of later steps.
func TestKeptRole(t *testing.T) {
	s := State{Installed: installed("b1", "b1"), Wanted: wanted("b1 w1"), Lost: map[string]bool{}}
	s.Wanted.Slots[0].Roles = rolesOf("m")
	step, _ := Next(s)
	if diff := cmp.Diff(rolesOf("b"), step.Request.Slots[0].Roles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCandidates: a member without which etcd has no majority is no candidate.
func TestCandidates(t *testing.T) {
	s := State{Installed: installed("m-1 m-2", "m=2"), Wanted: wanted("m=1"), Lost: map[string]bool{}}
	step, ok := Next(s)
	want := []contract.SetRemoval{{Name: "m", Count: 1, Candidates: []contract.Candidate{{Node: "m-2"}}}}
	if !ok || step.Operation != contract.OperationRemoveControlPlane {
		t.Fatalf("step %+v", step)
	}
	if diff := cmp.Diff(want, step.Request.Remove.Sets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWaiting(t *testing.T) {
	s := State{Installed: installed("m1 w1 w2", "m1 w1 w2"), Wanted: wanted("m1 w1 w2"), Lost: map[string]bool{"w1": false}}
	if names := Waiting(s); len(names) > 0 {
		t.Errorf("nothing is requested, but %v keep it from being added", names)
	}
	s.Wanted = wanted("m1 w1 w2 w3")
	if diff := cmp.Diff([]string{"w1"}, Waiting(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"host-of-w1"}, Claim(s).Request.PassedOver); diff != "" {
		t.Errorf("hosts that may still run their nodes (-want +got):\n%s", diff)
	}
	s.Wanted = wanted("m1 w2 w3")
	if names := Waiting(s); len(names) > 0 {
		t.Errorf("%v is not requested", names)
	}
}

// TestLosses: each request names all lost nodes, and says which of them stay.
func TestLosses(t *testing.T) {
	for _, r := range []struct {
		name, nodes, want string
		lost              map[string]bool
		operation         string
		gone, kept        []string
	}{
		{"one of two lost control planes is replaced", "m1 m2 m3 m4 m5", "m1 m2 m3 m4 m5", map[string]bool{"m1": true, "m2": true},
			contract.OperationAddControlPlane, []string{"m1"}, []string{"m2"}},
		{"one of two lost nodes of a set is replaced", "m-1 m-2 m-3 m-4 m-5", "m=5", map[string]bool{"m-1": true, "m-2": true},
			contract.OperationAddControlPlane, []string{"m-1"}, []string{"m-2"}},
		{"a worker leaves while another one is lost", "m1 w1 w2", "m1 w1", map[string]bool{"w1": false}, contract.OperationRemoveNodes, nil, []string{"w1"}},
		{"a control plane leaves while a worker is lost", "m1 m2 m3 w1", "m1 m2 w1", map[string]bool{"w1": false},
			contract.OperationRemoveControlPlane, nil, []string{"w1"}},
		{"a lost worker leaves", "m1 w1 w2", "m1 w2", map[string]bool{"w1": false}, contract.OperationRemoveNodes, []string{"w1"}, nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			step, ok := Next(State{Installed: installed(r.nodes, r.nodes), Wanted: wanted(r.want), Lost: r.lost})
			if !ok || step.Operation != r.operation {
				t.Fatalf("operation %q, want %q", step.Operation, r.operation)
			}
			if diff := cmp.Diff([][]string{r.gone, r.kept}, [][]string{step.Request.Gone(), step.Request.Kept}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("lost nodes that leave and that stay (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMembersAfter: the preview of an addition has the members of etcd that the task records.
func TestMembersAfter(t *testing.T) {
	for _, r := range []struct {
		name, nodes, want string
		lost              map[string]bool
		members           []string // after the first step, with those that are lost
	}{
		{"a replaced one is left out as long as their number is even", "m1 m2 m3 m4 m5", "m1 m2 m3 m4 m5", map[string]bool{"m1": true, "m2": true},
			[]string{"m2", "m3", "m4", "m5"}},
		{"a lost one is no member any more when another one joins", "m1 m2 m3 m4 m5 m6", "m1 m2 m3 m4 m5 m6", map[string]bool{"m1": true, "m2": true},
			[]string{"m1", "m3", "m4", "m5", "m6"}},
		{"a removal makes none a member", "m1 m2 m3 m4", "m2 m3 m4", nil, []string{"m2", "m3"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := State{Installed: installed(r.nodes, r.nodes), Wanted: wanted(r.want), Lost: r.lost}
			step, _ := Next(s)
			got := names(etcdMembers(s.after(step).Installed.Nodes))
			slices.Sort(got)
			if diff := cmp.Diff(r.members, got); diff != "" {
				t.Errorf("after %s (-want +got):\n%s", step, diff)
			}
		})
	}
}
