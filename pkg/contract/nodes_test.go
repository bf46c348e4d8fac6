package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodesOf: the nodes that select-hosts has claimed count only in a run that claims hosts.
func TestNodesOf(t *testing.T) {
	n := func(name, uid, address string) Node { return Node{Name: name, HostUID: uid, Address: address} }
	members := []Node{n("m1", "u1", "10.0.0.1"), n("w1", "u2", "10.0.0.2"), n("w2", "u3", "10.0.0.3")}
	members[0].Etcd = "etcd1"
	standby := n("s1", "u9", "10.0.0.9")
	standby.Standby = true
	listed := []Node{n("m1", "u1", "10.0.0.11"), n("left", "u8", "10.0.0.8"), n("w2", "u7", "10.0.0.7"), n("w1", "u2", ""), standby}
	claimed := []Node{n("m1", "u1", "10.0.0.1"), standby}
	for name, tc := range map[string]struct {
		request Request
		want    []Node
	}{
		"it claims hosts":            {Request{Order: Order{Operation: OperationAddNodes, Nodes: listed}, Record: Record{Members: members}}, claimed[:1]},
		"it resets hosts":            {Request{Order: Order{Operation: OperationReset, Nodes: listed}, Record: Record{Members: members}}, listed[:4]},
		"without a record":           {Request{Order: Order{Operation: OperationPlugins, Nodes: listed}}, listed[:4]},
		"plugins":                    {Request{Order: Order{Operation: OperationPlugins}, Record: Record{Members: members}}, members},
		"a member is lost":           {Request{Order: Order{Operation: OperationCollect}, Record: Record{Members: members, Lost: []string{"w1"}, Kept: []string{"w1"}}}, []Node{members[0], members[2]}},
		"lost, and not kept":         {Request{Order: Order{Operation: OperationSoftware}, Record: Record{Members: members, Lost: []string{"w1"}}}, []Node{members[0], members[2]}},
		"a lost member leaves":       {Request{Order: Order{Operation: OperationRemoveNodes, Remove: &Removal{Nodes: []string{"w1"}}}, Record: Record{Members: members, Lost: []string{"w1"}}}, members},
		"a node that never joined":   {Request{Order: Order{Operation: OperationRemoveNodes, Nodes: listed, Remove: &Removal{Nodes: []string{"left"}}}, Record: Record{Members: members}}, []Node{members[0], members[1], members[2], listed[1]}},
		"the namesake of one leaves": {Request{Order: Order{Operation: OperationRemoveNodes, Nodes: listed, Remove: &Removal{Nodes: []string{"w2"}}}, Record: Record{Members: members}}, members},
	} {
		if diff := cmp.Diff(tc.want, tc.request.NodesOf(claimed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReaddress: a member gets the address at which its host was seen at last. Everything else is as the record has it.
func TestReaddress(t *testing.T) {
	members := []Node{{Name: "m1", HostUID: "u1", Address: "10.0.0.1", Etcd: "etcd1"}, {Name: "w1", HostUID: "u2", Address: "10.0.0.2"}, {Name: "w2", HostUID: "u3", Address: "10.0.0.3"}}
	r := Request{Record: Record{Members: members}}
	r.Readdress([]Node{{Name: "other", HostUID: "u1", Address: "10.0.0.11", Address6: "fd00::1", MACs: []string{"02:00:00:00:00:01"}}, {HostUID: "u2"}, {Name: "w2", HostUID: "u7", Address: "10.0.0.7"}})
	want := []Node{{Name: "m1", HostUID: "u1", Address: "10.0.0.11", Address6: "fd00::1", MACs: []string{"02:00:00:00:00:01"}, Etcd: "etcd1"}, members[1], members[2]}
	if diff := cmp.Diff(want, r.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if members[0].Address != "10.0.0.1" {
		t.Error("the record was changed")
	}
}
