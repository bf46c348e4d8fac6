package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodesOf: the list in the inventory's ConfigMap is that of this run only if the run claims hosts or
// resets them.
func TestNodesOf(t *testing.T) {
	n := func(name, uid, address string) Node { return Node{Name: name, HostUID: uid, Address: address} }
	members := []Node{n("m1", "u1", "10.0.0.1"), n("w1", "u2", "10.0.0.2"), n("w2", "u3", "10.0.0.3")}
	members[0].Etcd = "etcd1"
	standby := n("s1", "u9", "10.0.0.9")
	standby.Standby = true
	listed := []Node{n("m1", "u1", "10.0.0.11"), n("left", "u8", "10.0.0.8"), n("w2", "u7", "10.0.0.7"), n("w1", "u2", ""), standby}
	moved := members[0] // what the record says of it stays, at its newest address
	moved.Address = "10.0.0.11"
	for name, tc := range map[string]struct {
		request Request
		want    []Node
	}{
		"it claims hosts":            {Request{Operation: OperationAddNodes, Members: members}, listed[:4]},
		"it resets hosts":            {Request{Operation: OperationReset, Members: members}, listed[:4]},
		"of an older build":          {Request{Members: members}, listed[:4]},
		"without a record":           {Request{Operation: OperationPlugins}, listed[:4]},
		"plugins":                    {Request{Operation: OperationPlugins, Members: members}, []Node{moved, members[1], members[2]}},
		"a member is lost":           {Request{Operation: OperationCollect, Members: members, Lost: []string{"w1"}, Kept: []string{"w1"}}, []Node{moved, members[2]}},
		"lost, of an older build":    {Request{Operation: OperationSoftware, Members: members, Lost: []string{"w1"}}, []Node{moved, members[2]}},
		"a lost member leaves":       {Request{Operation: OperationRemoveNodes, Members: members, Lost: []string{"w1"}, Remove: &Removal{Nodes: []string{"w1"}}}, []Node{moved, members[1], members[2]}},
		"a node that never joined":   {Request{Operation: OperationRemoveNodes, Members: members, Remove: &Removal{Nodes: []string{"left"}}}, []Node{moved, members[1], members[2], listed[1]}},
		"the namesake of one leaves": {Request{Operation: OperationRemoveNodes, Members: members, Remove: &Removal{Nodes: []string{"w2"}}}, []Node{moved, members[1], members[2]}},
	} {
		if diff := cmp.Diff(tc.want, tc.request.NodesOf(listed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff("10.0.0.1", members[0].Address); diff != "" {
		t.Errorf("the request was changed (-want +got):\n%s", diff)
	}
}
