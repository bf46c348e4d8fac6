package change

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// own gives nodes and node sets of a request variables of their own: NAME:VARIABLE=JSON.
func own(r *contract.Spec, words string) {
	r.Slots, r.Sets = slices.Clone(r.Slots), slices.Clone(r.Sets)
	for _, word := range strings.Fields(words) {
		name, text, _ := strings.Cut(word, ":")
		for i, slot := range r.Slots {
			if slot.Name == name {
				r.Slots[i].Vars = joined(slot.Vars, variables(text))
			}
		}
		for i, set := range r.Sets {
			if set.Name == name {
				r.Sets[i].Vars = joined(set.Vars, variables(text))
			}
		}
	}
}

func joined(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// withOwn returns a cluster whose nodes and sets had variables, and a spec in which they are to have others.
func withOwn(nodes, sets, had, are string) State {
	s := State{Installed: installed(nodes, sets), Wanted: wanted(sets), Lost: map[string]bool{}}
	own(&s.Installed.Request, had)
	own(&s.Wanted.Spec, are)
	return s
}

// TestPlanOfNodeVariables: only the nodes whose variables change are drained.
func TestPlanOfNodeVariables(t *testing.T) {
	const nodes, sets = "m1 w1 a-1 a-2 c-1", "m1 w1 a=2 c=1"
	give := func(names ...string) (plan []string) {
		for _, name := range names {
			operation := contract.OperationUpgradeNodes
			if name[0] == 'm' {
				operation = contract.OperationUpgradeControlPlane
			}
			plan = append(plan, operation+": give "+name+" the requested settings")
		}
		return plan
	}
	vars := func(text string) func(*State) { return func(s *State) { s.Wanted.Vars = variables(text) } }
	was := func(text string) func(*State) { return func(s *State) { s.Installed.Request.Vars = variables(text) } }
	for _, r := range []struct {
		name, had, are string
		change         []func(*State)
		plan           []string
	}{
		{"none changes", "a:x=1 m1:y=2", "a:x=1 m1:y=2", nil, nil},
		{"a set gets one", "", "a:x=1", nil, give("a-1", "a-2")},
		{"a set has another one", "a:x=1 c:x=1", "a:x=2 c:x=1", nil, give("a-1", "a-2")},
		{"a set has none any more", "a:x=1", "", nil, give("a-1", "a-2")},
		{"a control plane gets one", "", "m1:x=1", nil, give("m1")},
		{"a named worker and a set", "", "w1:x=1 c:x=1", nil, give("w1", "c-1")},
		{"one of the cluster, that a set overrides", "a:x=1", "a:x=1", []func(*State){vars("x=2")}, give("m1", "w1", "c-1")},
		{"that of a set becomes that of the cluster", "a:x=1", "", []func(*State){vars("x=1")}, give("m1", "w1", "c-1")},
		{"that of the cluster becomes that of all", "", "m1:x=1 w1:x=1 a:x=1 c:x=1", []func(*State){was("x=1")}, nil},
		{"one that needs no drain", "a:x=1", "a:x=1", []func(*State){vars("dns_memory_limit=1")},
			[]string{"configure: apply variables dns_memory_limit to the cluster, without a drain"}},
		{"one that needs no drain, and that a node uses", `a:x="{{dns_memory_limit}}"`, `a:x="{{dns_memory_limit}}"`, []func(*State){vars("dns_memory_limit=1")},
			give("m1", "w1", "a-1", "a-2", "c-1")},
		{"one that needs no drain, and one of a set", "", "a:x=1", []func(*State){vars("dns_memory_limit=1")}, give("m1", "w1", "a-1", "a-2", "c-1")},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := withOwn(nodes, sets, r.had, r.are)
			for _, change := range r.change {
				change(&s)
			}
			steps, after := Preview(s)
			if diff := cmp.Diff(r.plan, describe(steps)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			for _, n := range after.Installed.Nodes {
				if _, settings := after.Installed.Level(n); settings != s.Wanted.SettingsOf(n) || n.Settings != "" && len(r.plan) > 0 {
					t.Errorf("node %s has the settings %s in the end, want %s", n.Name, settings, s.Wanted.SettingsOf(n))
				}
			}
			if len(r.plan) > 0 && after.Installed.Request.VarsOf(node("a-1"))["x"] == nil != (s.Wanted.VarsOf(node("a-1"))["x"] == nil) {
				t.Errorf("the record has the variables %v of set a", after.Installed.Request.VarsOf(node("a-1")))
			}
		})
	}
}

// A node that joins a set gets its variables: those of the spec, or those of the record as long as the control planes
// do not have those of the spec.
func TestVariablesOfNewNodes(t *testing.T) {
	for name, r := range map[string]struct{ vars, want string }{
		"the set changes":                {"", "2"},
		"the set and the cluster change": {"y=1", "1"},
	} {
		s := withOwn("m1 a-1", "m1 a=2", "a:x=1", "a:x=2")
		s.Wanted.Vars = variables(r.vars)
		s.Lost["a-1"] = true
		step, _ := Next(s)
		if got := string(step.Request.VarsOf(node("a-2"))["x"]); got != r.want || step.Operation != contract.OperationAddNodes {
			t.Errorf("%s: %s gives x=%s, want %s", name, step.Operation, got, r.want)
		}
	}
}

// A run that neither upgrades nor adds nodes describes the nodes as they are.
func TestOtherRunsChangeNoVariablesOfNodes(t *testing.T) {
	s := withOwn("m1 a-1", "m1 a=1", "a:x=1", "a:x=2")
	r := Plugins(s).Request
	if string(r.VarsOf(node("a-1"))["x"]) != "1" {
		t.Errorf("a run of the plugins has the variables %v", r.VarsOf(node("a-1")))
	}
	if diff := cmp.Diff(s.Installed.Nodes, r.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// A variable that cannot change is refused for one node as for all: no node is upgraded, none counts as half upgraded,
// and new nodes do not get it.
func TestRefusedNodeVariable(t *testing.T) {
	s := withOwn("m1 a-1", "m1 a=2", `a:etcd_data_dir="/a" m1:bin_dir="/a"`, `a:etcd_data_dir="/b"`)
	s.Wanted.Vars = variables("x=1")
	var fields []string
	for _, r := range Refused(s) {
		fields = append(fields, r.Field)
	}
	if diff := cmp.Diff([]string{"spec.nodeSets[0].vars.etcd_data_dir", "spec.m1.vars.bin_dir"}, fields); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	s = withOwn("m1 a-1", "m1 a=2", `a:etcd_data_dir="/a"`, `a:etcd_data_dir="/b"`)
	if p := Upgrading(s); p != nil {
		t.Errorf("the refused change counts as one that has begun: %+v", p)
	}
	step, _ := Next(s)
	if step.Operation != contract.OperationAddNodes || string(step.Request.VarsOf(node("a-2"))["etcd_data_dir"]) != `"/a"` {
		t.Errorf("%s: a new node of the set gets %v", step.Operation, step.Request.VarsOf(node("a-2")))
	}
	if after := s.after(step); len(Refused(after)) != 1 {
		t.Errorf("after the addition, the change is not refused any more: %v", Refused(after))
	}
}

// A restore gives control planes the variables of the record, also one that is now pinned to another host.
func TestRestoreGivesVariablesOfNodes(t *testing.T) {
	s := withOwn("m1@a m2 m3 w1", "m1@a m2 m3 w1", "m1:x=1 w1:x=1", "m1:x=2 w1:x=2")
	s.Wanted.Slots[0].MAC, s.Lost["m1"], s.Restore = "b", true, &contract.Restore{Asked: "1", Backup: "b"}
	step, _ := Next(s)
	if r := step.Request; r.Slots[0].MAC != "b" || string(r.Slots[0].Vars["x"]) != "1" || string(r.VarsOf(node("w1"))["x"]) != "1" {
		t.Errorf("the slots of the restore are %+v", r.Slots)
	}
}
