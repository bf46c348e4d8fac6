package contract

import (
	"reflect"
	"testing"
)

// A node lacks what the request has and it has not, and what a run has begun and not completed.
func TestLacks(t *testing.T) {
	asked := func(patch string) Request {
		return Request{Spec: Spec{KubernetesVersion: "1.35.4"}, Order: Order{Upgrade: &Upgrade{Nodes: []string{"n"}, Patch: patch}}}
	}
	settings := Request{}.Settings()
	for _, r := range []struct {
		name         string
		n            Node
		request      Request
		level, patch bool
	}{
		{"everything is there", Node{}, asked("monday"), false, false},
		{"no patch is requested", Node{Patched: "sunday"}, asked(""), false, false},
		{"no upgrade", Node{Target: &Target{Patch: "tuesday"}}, Request{Spec: Spec{KubernetesVersion: "1.35.4"}}, false, false},
		{"another patch", Node{}, asked("tuesday"), false, true},
		{"an own level", Node{Patched: "sunday"}, asked("monday"), false, true},
		{"another version", Node{Version: "1.34.3"}, asked("monday"), true, false},
		{"other variables", Node{Settings: "other"}, asked("tuesday"), true, true},
		{"a patch has begun", Node{Target: &Target{Patch: "tuesday"}}, asked("monday"), false, true},
		{"a playbook has begun", Node{Target: &Target{Version: "1.35.4", Settings: settings}}, asked("monday"), true, false},
	} {
		i := Installed{Request: Spec{KubernetesVersion: "1.35.4"}, Patched: "monday"}
		if level, patch := i.Lacks(r.n, r.request); level != r.level || patch != r.patch {
			t.Errorf("%s: level %t, patch %t, want %t and %t", r.name, level, patch, r.level, r.patch)
		}
	}
}

func TestOnlyPatches(t *testing.T) {
	members := []Node{{Name: "a"}, {Name: "b", Version: "1.34.3"}, {Name: "c", Target: &Target{Patch: "x"}}, {Name: "d", Target: &Target{Version: "1.35.4"}}}
	for _, r := range []struct {
		nodes []string
		patch string
		want  bool
	}{
		{[]string{"a", "c"}, "monday", true}, {[]string{"a", "b"}, "monday", false}, {[]string{"d"}, "monday", false},
		{[]string{"a"}, "", false}, {[]string{"unknown"}, "monday", false},
	} {
		request := Request{Spec: Spec{KubernetesVersion: "1.35.4"}, Record: Record{Members: members}, Order: Order{Upgrade: &Upgrade{Nodes: r.nodes, Patch: r.patch}}}
		if got := request.OnlyPatches(); got != r.want {
			t.Errorf("%v with patch %q: %t, want %t", r.nodes, r.patch, got, r.want)
		}
	}
	if (Request{}).OnlyPatches() {
		t.Error("a request without an upgrade only patches")
	}
}

// The level that all nodes have is that of the cluster. As long as they differ, a new node has the earlier
// one.
func TestSettlePatched(t *testing.T) {
	i := Installed{Patched: "sunday", Nodes: []Node{{Name: "a", Patched: "monday"}, {Name: "b"}}}
	before := i
	if i.SettlePatched(); !reflect.DeepEqual(i, before) {
		t.Errorf("different levels were settled: %+v", i)
	}
	i.Nodes[1].Patched = "monday"
	shared := i.Nodes
	if i.SettlePatched(); !reflect.DeepEqual(i, Installed{Patched: "monday", Nodes: []Node{{Name: "a"}, {Name: "b"}}}) {
		t.Errorf("%+v", i)
	}
	if shared[0].Patched != "monday" {
		t.Error("the nodes of the caller were changed")
	}
}
