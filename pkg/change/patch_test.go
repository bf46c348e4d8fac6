package change

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// patches sets the requested patch, and the patch levels of nodes as NAME=LEVEL. A run has begun to patch
// a node with >LEVEL.
func patches(requested, nodes string) func(*State) {
	return func(s *State) {
		s.Wanted.Patched = requested
		for _, word := range strings.Fields(nodes) {
			name, has, _ := strings.Cut(word, "=")
			has, begun, half := strings.Cut(has, ">")
			for i := range s.Installed.Nodes {
				if n := &s.Installed.Nodes[i]; n.Name == name {
					if n.Patched = has; half {
						n.Target = &contract.Target{Patch: begun}
					}
				}
			}
		}
	}
}

// TestPlanOfAPatch: the nodes have 1.35.4, which the spec requests, unless a row says something else.
func TestPlanOfAPatch(t *testing.T) {
	two := func(s *State) { s.Rollout.MaxUnavailable = 2 }
	lost := func(name string) func(*State) { return func(s *State) { s.Lost[name] = false } }
	cluster := func(level string) func(*State) { return func(s *State) { s.Installed.Patched = level } }
	const patch = "patch the operating system of "
	for _, r := range []struct {
		name, nodes, want string
		change            []func(*State)
		plan              []string
		patched           string // the level of the cluster after the plan
	}{
		{"control planes one by one, then batches", "m1 m2 m3 w1 w2 w3", "m1 m2 m3 w1 w2 w3", []func(*State){patches("monday", ""), two}, []string{
			"upgrade-control-plane: " + patch + "m1", "upgrade-control-plane: " + patch + "m2", "upgrade-control-plane: " + patch + "m3",
			"upgrade-nodes: " + patch + "w1, w2", "upgrade-nodes: " + patch + "w3"}, "monday"},
		{"nothing for the same value", "m1 w1", "m1 w1", []func(*State){cluster("monday"), patches("monday", "")}, nil, "monday"},
		{"nothing without a request", "m1 w1", "m1 w1", []func(*State){cluster("monday"), patches("", "")}, nil, "monday"},
		{"it goes on in the middle", "m1 w1 w2", "m1 w1 w2", []func(*State){cluster("monday"), patches("tuesday", "m1=tuesday w1=tuesday")},
			[]string{"upgrade-nodes: " + patch + "w2"}, "tuesday"},
		{"a half patched worker is alone and first", "m1 w1 w2 w3", "m1 w1 w2 w3", []func(*State){patches("monday", "m1=monday w3=>monday"), two},
			[]string{"upgrade-nodes: " + patch + "w3", "upgrade-nodes: " + patch + "w1, w2"}, "monday"},
		{"a half patched worker after the request was taken back", "m1 w1 w2", "m1 w1 w2", []func(*State){patches("", "m1=monday w2=>monday")},
			[]string{"upgrade-nodes: " + patch + "w2"}, ""},
		{"the others stay as they are if the half patched worker is lost", "m1 w1 w2", "m1 w1 w2", []func(*State){patches("", "w2=>monday"), lost("w2")}, nil, ""},
		{"a version after the request was taken back", "m1 w1 w2", "m1 w1 w2", []func(*State){at("1.34.3", ""), patches("", "w2=>monday"), two}, []string{
			"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w2 to 1.35.4, with a patch of the operating system", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"a half patched worker is not with a half upgraded one after the request was taken back", "m1 w1 w2", "m1 w1 w2",
			[]func(*State){at("1.34.3", "m1=1.35.4 w1=1.34.3>1.35.4"), patches("", "w2=>monday"), two},
			[]string{"upgrade-nodes: upgrade w2 to 1.35.4, with a patch of the operating system", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"a half patched control plane node is first", "m1 m2 m3 w1", "m1 m2 m3 w1", []func(*State){patches("tuesday", "m2=>monday")}, []string{
			"upgrade-control-plane: " + patch + "m2", "upgrade-control-plane: " + patch + "m1", "upgrade-control-plane: " + patch + "m3", "upgrade-nodes: " + patch + "w1"}, "tuesday"},
		{"but the first one gets a version first", "m1 m2 m3", "m1 m2 m3", []func(*State){at("1.34.3", ""), patches("", "m2=>monday")}, []string{
			"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-control-plane: upgrade m2 to 1.35.4, with a patch of the operating system", "upgrade-control-plane: upgrade m3 to 1.35.4"}, ""},
		{"another request for a half patched worker", "m1 w1", "m1 w1", []func(*State){patches("tuesday", "m1=monday w1=>monday")},
			[]string{"upgrade-control-plane: " + patch + "m1", "upgrade-nodes: " + patch + "w1"}, "tuesday"},
		{"only the first of two hops has the patch", "m1 w1", "m1 w1", []func(*State){at("1.33.5", ""), patches("monday", "")}, []string{
			"upgrade-control-plane: upgrade m1 to 1.34.7, with a patch of the operating system", "upgrade-nodes: upgrade w1 to 1.34.7, with a patch of the operating system",
			"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, "monday"},
		{"a patch together with variables", "m1 w1", "m1 w1", []func(*State){patches("monday", "w1=monday"), func(s *State) { s.Wanted.Vars = vars("1") }}, []string{
			"upgrade-control-plane: give m1 the requested settings, with a patch of the operating system", "upgrade-nodes: give w1 the requested settings"}, "monday"},
		{"a new worker counts as patched", "m1", "m1 w1", []func(*State){cluster("monday"), patches("monday", "")}, []string{"add-nodes: add w1"}, "monday"},
		{"a new worker comes after the patch", "m1", "m1 w1", []func(*State){patches("monday", "")}, []string{"upgrade-control-plane: " + patch + "m1", "add-nodes: add w1"}, "monday"},
		{"a refused upgrade", "m1 w1", "m1 w1", []func(*State){at("1.35.9", ""), patches("monday", "")}, nil, ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := State{Installed: installed(r.nodes, r.nodes), Wanted: wanted(r.want), Lost: map[string]bool{}, DrainSeconds: 60}
			for _, change := range r.change {
				change(&s)
			}
			steps, after := Preview(s)
			if diff := cmp.Diff(r.plan, describe(steps)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if after.Installed.Patched != r.patched {
				t.Errorf("the cluster has the patch %q, want %q: %+v", after.Installed.Patched, r.patched, after.Installed.Nodes)
			}
		})
	}
}

// TestRequestOfAPatch: nothing of the cluster changes but its packages.
func TestRequestOfAPatch(t *testing.T) {
	s := State{Installed: installed("m1 w1", "m1 w1"), Wanted: wanted("m1 w1"), Lost: map[string]bool{}, Rollout: Rollout{DrainSeconds: 90}}
	s.Installed.Patched = "sunday"
	patches("monday", "m1=monday")(&s)
	step, _ := Next(s)
	want := &contract.Upgrade{Nodes: []string{"w1"}, From: "1.35.4", Path: []string{"1.35.4"}, DrainSeconds: 90, Patch: "monday"}
	if diff := cmp.Diff(want, step.Request.Upgrade); diff != "" || !step.Request.OnlyPatches() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := step.Request; r.Patched != "sunday" || r.KubernetesVersion != "1.35.4" || r.Settings() != s.Installed.Request.Settings() || r.Members[0].Patched != "monday" {
		t.Errorf("request %+v", step.Request)
	}
}

func TestProgressOfAPatch(t *testing.T) {
	s := State{Installed: installed("m1 w1 w2", "m1 w1 w2"), Wanted: wanted("m1 w1 w2"), Lost: map[string]bool{}}
	patches("monday", "m1=monday w1=>monday")(&s)
	want := &Progress{From: "1.35.4", To: "1.35.4", Hop: "1.35.4", Newest: "1.35.4", Done: 1, Total: 3, Patch: "monday", OnlyPatch: true,
		Versions: "1.35.4, patched: m1; 1.35.4, patch not complete: w1; 1.35.4, not patched: w2"}
	if diff := cmp.Diff(want, Upgrading(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	at("1.34.3", "m1=1.35.4")(&s)
	want.From, want.OnlyPatch, want.Versions = "1.34.3", false, "1.35.4, patched: m1; 1.34.3, patch not complete: w1; 1.34.3, not patched: w2"
	if diff := cmp.Diff(want, Upgrading(s)); diff != "" {
		t.Errorf("with an upgrade (-want +got):\n%s", diff)
	}
}
