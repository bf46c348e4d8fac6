package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestUnreset: an addition installs no node on hosts that contain a part of the cluster and from which it is to be removed. It
// goes on with those of nodes that an earlier run was to add.
func TestUnreset(t *testing.T) {
	for words, want := range map[string][]string{
		"m1 w1 w3": {"host-of-w4", "host-of-w2"},
		"m1 w1 w4": {"host-of-w2"},
		"m1 w1 w2": {"host-of-w4", "host-of-w2"}, // the node is to be installed on another host
	} {
		s := State{Wanted: wanted(words), Installed: contract.Installed{Request: wanted("m1 w1").Spec, Nodes: []contract.Node{node("m1"), node("w1")}},
			Unfinished: []contract.Node{node("w4")}, NotReset: []contract.Node{node("w2")}}
		step, ok := Next(s)
		if !ok || step.Operation != contract.OperationAddNodes {
			t.Fatalf("%s: %t, %s", words, ok, step)
		}
		if diff := cmp.Diff(want, step.Request.Unreset); diff != "" {
			t.Errorf("%s (-want +got):\n%s", words, diff)
		}
	}
}

// TestReplacementGoesOn: a replacement that has failed goes on with the host on which it has begun.
func TestReplacementGoesOn(t *testing.T) {
	begun := contract.Node{Name: "host-6", Host: "host-6", Roles: []string{contract.RoleControlPlane}}
	s := State{Wanted: wanted("m1 m2 m3"), Installed: contract.Installed{Request: wanted("m1 m2 m3").Spec, Nodes: []contract.Node{node("m1"), node("m2"), node("m3")}},
		Unfinished: []contract.Node{begun}, Lost: map[string]bool{"m3": true}}
	if step, ok := Next(s); !ok || step.Operation != contract.OperationAddControlPlane || len(step.Request.Unreset) > 0 {
		t.Errorf("%t, %s, without %q", ok, step, step.Request.Unreset)
	}
}
