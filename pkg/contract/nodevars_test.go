package contract

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func own(value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"a": json.RawMessage(value)}
}

// A node set, and a named node with the name that a node of the set could have, have variables.
func withOwn() Spec {
	return Spec{KubernetesVersion: "1.35.4", Vars: own("0"), SecretVars: map[string]string{"s": "digest"},
		Slots: []Slot{{Name: "m", Vars: own("1")}, {Name: "w"}, {Name: "s-1", Vars: own("2")}}, Sets: []Set{{Name: "s", Vars: own("3")}, {Name: "t"}}}
}

func TestVarsOf(t *testing.T) {
	s := withOwn()
	for _, r := range []struct {
		node Node
		want string
	}{{Node{Name: "m"}, "1"}, {Node{Name: "w"}, ""}, {Node{Name: "s-1"}, "2"}, {Node{Name: "s-1", Set: "s"}, "3"}, {Node{Name: "t-1", Set: "t"}, ""}, {Node{Name: "x"}, ""}, {Node{Name: "m", Set: "u"}, ""}} {
		if got := string(s.VarsOf(r.node)["a"]); got != r.want {
			t.Errorf("%s of set %q has a=%s, want %q", r.node.Name, r.node.Set, got, r.want)
		}
	}
}

// The settings of a node depend on the variables that it gets, wherever they are set.
func TestSettingsOf(t *testing.T) {
	s := withOwn()
	m, w := Node{Name: "m"}, Node{Name: "w"}
	if s.SettingsOf(w) != s.Settings() || s.SettingsOf(m) == s.Settings() {
		t.Errorf("settings %s, of m %s, of w %s", s.Settings(), s.SettingsOf(m), s.SettingsOf(w))
	}
	other := withOwn()
	other.Vars, other.Slots = own(" 1 "), nil
	if s.SettingsOf(m) != other.SettingsOf(m) {
		t.Error("a variable of the cluster counts for less than the same one of the node")
	}
	other.SecretVars = map[string]string{"s": "other"}
	if s.SettingsOf(m) == other.SettingsOf(m) {
		t.Error("the settings of a node do not depend on variables in Secrets")
	}
	if other.SecretVars = s.SecretVars; other.SettingsWith(map[string]json.RawMessage{"s": json.RawMessage("1")}) == other.Settings() {
		t.Error("a node's variable does not count more than one in a Secret")
	}
	if s.Release = "v2.32.0"; ReleaseOf(s.SettingsOf(m)) != "v2.32.0" {
		t.Errorf("the settings are %s", s.SettingsOf(m))
	}
	if _, had := s.Vars["s"]; had || string(s.Vars["a"]) != "0" {
		t.Errorf("the variables of the cluster have changed: %s", s.Vars)
	}
}

// Only nodes that differ from the new request get their own settings.
func TestStampedWithVariablesOfNodes(t *testing.T) {
	before, r := withOwn(), Request{Spec: withOwn()}
	r.Sets = []Set{{Name: "s", Vars: own("4")}, {Name: "t"}}
	i := Installed{Request: before, Nodes: []Node{{Name: "m"}, {Name: "s-1", Set: "s"}, {Name: "s-2", Set: "s", Version: "1.34.3"}, {Name: "t-1", Set: "t"}}}
	was := before.SettingsOf(i.Nodes[1])
	want := []Node{{Name: "m"}, {Name: "s-1", Set: "s", Version: "1.35.4", Settings: was}, {Name: "s-2", Set: "s", Version: "1.34.3", Settings: was}, {Name: "t-1", Set: "t"}}
	if diff := cmp.Diff(want, i.Stamped(r)); diff != "" {
		t.Errorf("stamped (-want +got):\n%s", diff)
	}
	for n, lacks := range []bool{false, true, true, false} {
		if level, _ := i.Lacks(i.Nodes[n], r); level != lacks {
			t.Errorf("node %s lacks the level: %v", i.Nodes[n].Name, level)
		}
	}
}
