package change

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// at sets the version of the installed cluster, and the versions of nodes as NAME=VERSION[/VARS]. VARS is
// the value of the variable a. A run has begun to change a node with >VERSION[/VARS] to that.
func at(version, nodes string) func(*State) {
	return func(s *State) {
		s.Installed.Request.KubernetesVersion = version
		for _, word := range strings.Fields(nodes) {
			name, text, _ := strings.Cut(word, "=")
			text, target, half := strings.Cut(text, ">")
			number, settings := levelIn(text)
			for i := range s.Installed.Nodes {
				if s.Installed.Nodes[i].Name != name {
					continue
				}
				s.Installed.Nodes[i].Version, s.Installed.Nodes[i].Settings = number, settings
				if half {
					number, settings := levelIn(target)
					s.Installed.Nodes[i].Target = &contract.Target{Version: number, Settings: settings}
				}
			}
		}
	}
}

// levelIn reads VERSION[/VARS].
func levelIn(text string) (version, settings string) {
	version, value, other := strings.Cut(text, "/")
	if other {
		return version, contract.Request{Spec: contract.Spec{Vars: vars(value)}}.Settings()
	}
	return version, contract.Request{}.Settings()
}

func vars(value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{"a": json.RawMessage(value)}
}

// TestPlanOfAnUpgrade: the spec requests 1.35.4.
func TestPlanOfAnUpgrade(t *testing.T) {
	two := func(s *State) { s.Rollout.MaxUnavailable = 2 }
	pause := func(s *State) { s.Rollout.PauseAfterControlPlane = true }
	paused := "all control plane nodes have 1.35.4, and spec.upgrade.pauseAfterControlPlane keeps the workers at their version: set it to false to upgrade them"
	lost := func(name string, replaced bool) func(*State) { return func(s *State) { s.Lost[name] = replaced } }
	for _, r := range []struct {
		name, nodes, want string
		change            []func(*State)
		plan              []string
		waits             string // after the plan
	}{
		{"one control plane and one worker", "m1 w1", "m1 w1", []func(*State){at("1.34.3", "")},
			[]string{"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"a patch", "m1", "m1", []func(*State){at("1.35.0", "")}, []string{"upgrade-control-plane: upgrade m1 to 1.35.4"}, ""},
		{"batches", "m1 m2 m3 w1 w2 w3 s-1", "m1 m2 m3 w1 w2 w3 s=1", []func(*State){at("1.34.3", ""), two}, []string{
			"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-control-plane: upgrade m2 to 1.35.4", "upgrade-control-plane: upgrade m3 to 1.35.4",
			"upgrade-nodes: upgrade w1, w2 to 1.35.4", "upgrade-nodes: upgrade w3, s-1 to 1.35.4"}, ""},
		{"two minors", "m1 w1", "m1 w1", []func(*State){at("1.33.5", "")}, []string{
			"upgrade-control-plane: upgrade m1 to 1.34.7", "upgrade-nodes: upgrade w1 to 1.34.7",
			"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"it goes on in the middle", "m1 w1 w2 w3", "m1 w1 w2 w3", []func(*State){at("1.34.3", "m1=1.35.4 w2=1.35.4"), two},
			[]string{"upgrade-nodes: upgrade w1, w3 to 1.35.4"}, ""},
		{"a failed batch comes first and alone", "m1 w1 w2 w3 w4", "m1 w1 w2 w3 w4", []func(*State){at("1.34.3", "m1=1.35.4 w3=1.35.4 w4=1.34.3>1.35.4"), two},
			[]string{"upgrade-nodes: upgrade w4 to 1.35.4", "upgrade-nodes: upgrade w1, w2 to 1.35.4"}, ""},
		{"a cordoned worker comes first", "m1 w1 w2", "m1 w1 w2", []func(*State){at("1.34.3", "m1=1.35.4"), func(s *State) { s.Installed.Draining = []string{"w2"} }},
			[]string{"upgrade-nodes: upgrade w2 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"variables only", "m1 w1", "m1 w1", []func(*State){func(s *State) { s.Wanted.Vars = vars("1") }},
			[]string{"upgrade-control-plane: give m1 the requested settings", "upgrade-nodes: give w1 the requested settings"}, ""},
		{"variables are taken back", "m1 m2 m3", "m1 m2 m3", []func(*State){at("1.35.4", "m1=1.35.4/1")},
			[]string{"upgrade-control-plane: give m1 the requested settings"}, ""},
		{"another name of the same release", "m1 w1", "m1 w1", []func(*State){func(s *State) { s.Wanted.Release = contract.DefaultRelease }}, nil, ""},
		{"a newer release", "m1 w1", "m1 w1", []func(*State){func(s *State) { s.Wanted.Release = "v2.32.0" }},
			[]string{"upgrade-control-plane: give m1 the requested settings", "upgrade-nodes: give w1 the requested settings"}, ""},
		{"a newer version in the middle", "m1 w1", "m1 w1", []func(*State){at("1.34.3", "m1=1.35.0")},
			[]string{"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"a version of the site's own in the middle", "m1 w1", "m1 w1", []func(*State){at("1.33.5", "m1=1.34.9"), func(s *State) { s.Wanted.DepotChecksums = true }}, []string{
			"upgrade-nodes: upgrade w1 to 1.34.9", "upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"pause after the control plane", "m1 w1", "m1 w1", []func(*State){at("1.34.3", ""), pause}, []string{"upgrade-control-plane: upgrade m1 to 1.35.4"}, paused},
		{"pause, although a new worker has the version", "m1 w1 w2", "m1 w1 w2", []func(*State){at("1.34.3", "m1=1.35.4 w1=1.35.4"), pause}, nil, paused},
		{"pause, except for workers that are half changed", "m1 w1 w2 w3", "m1 w1 w2 w3", []func(*State){at("1.34.3", "m1=1.35.4 w2=1.34.3>1.35.4"), two, pause},
			[]string{"upgrade-nodes: upgrade w2 to 1.35.4"}, paused},
		{"variables are taken back after a failure", "m1 m2 w1", "m1 m2 w1", []func(*State){at("1.35.4", "m1=1.35.4>1.35.4/1 w1=1.35.4>1.35.4/1")},
			[]string{"upgrade-control-plane: give m1 the requested settings", "upgrade-nodes: give w1 the requested settings"}, ""},
		{"a newer version after a failure", "m1 m2", "m1 m2", []func(*State){at("1.34.3", "m1=1.34.3>1.35.0")},
			[]string{"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-control-plane: upgrade m2 to 1.35.4"}, ""},
		{"a half changed node is replaced", "m1 w1 w2", "m1 w1 w2", []func(*State){at("1.35.4", "w1=1.35.4>1.35.4/1"), lost("w1", true)}, []string{"add-nodes: replace w1"}, ""},
		{"a lost worker is replaced first", "m1 w1 w2", "m1 w1 w2", []func(*State){at("1.34.3", ""), lost("w1", true)},
			[]string{"add-nodes: replace w1", "upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w2 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"a lost worker that is replaced later", "m1 w1 w2", "m1 w1 w2", []func(*State){at("1.34.3", "m1=1.35.4"), lost("w1", true)},
			[]string{"add-nodes: replace w1", "upgrade-nodes: upgrade w2 to 1.35.4"}, ""},
		{"a lost worker is left out", "m1 w1 w2", "m1 w1 w2", []func(*State){at("1.33.5", ""), lost("w1", false)},
			[]string{"upgrade-control-plane: upgrade m1 to 1.34.7", "upgrade-nodes: upgrade w2 to 1.34.7"},
			"w1: lost, and at version 1.33.5; the upgrade ends when each such node is back, is replaced, or is removed from the spec"},
		{"a lost control plane node", "m1 m2 m3 w1", "m1 m2 m3 w1", []func(*State){at("1.34.3", "m1=1.35.4 m2=1.35.4 m3=1.35.4"), lost("m2", false)}, nil,
			"no node is upgraded while a control plane node is lost: restore or replace m2"},
		{"a node that is not requested leaves first", "m1 w1 w2", "m1 w2", []func(*State){at("1.34.3", "")},
			[]string{"remove-nodes: remove w1", "upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w2 to 1.35.4"}, ""},
		{"a node whose successor is still to come leaves last", "m1 w1", "m1 w2", []func(*State){at("1.34.3", "")}, []string{
			"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4", "add-nodes: add w2", "remove-nodes: remove w1"}, ""},
		{"nodes are added during a pause", "m1 w1", "m1 w1 w2", []func(*State){at("1.34.3", "m1=1.35.4"), pause}, []string{"add-nodes: add w2"}, paused},
		{"the last old node leaves", "m1 w1 w2", "m1 w1", []func(*State){at("1.34.3", "m1=1.35.4 w1=1.35.4")}, []string{"remove-nodes: remove w2"}, ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := State{Installed: installed(r.nodes, r.nodes), Wanted: wanted(r.want), Lost: map[string]bool{}, DrainSeconds: 60}
			s.Installed.Request.Sets = s.Wanted.Sets
			for _, change := range r.change {
				change(&s)
			}
			steps, after := Preview(s)
			if diff := cmp.Diff(r.plan, describe(steps)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			waits := ""
			if p := Upgrading(after); p != nil {
				waits = p.Waits
			}
			if waits != r.waits {
				t.Errorf("after the plan, the upgrade waits: %q, want %q", waits, r.waits)
			}
		})
	}
}

// TestRequestOfAnUpgrade: the run gets the versions on the way, and the version of each node.
func TestRequestOfAnUpgrade(t *testing.T) {
	s := State{Installed: installed("m1 w1 w2 s-1", "m1 w1 w2 s=1/1"), Wanted: wanted("m1 w1 w2 s=1/3"), DrainSeconds: 60, Lost: map[string]bool{"w2": false},
		Rollout: Rollout{MaxUnavailable: 3, DrainSeconds: 90}}
	at("1.33.5", "m1=1.34.7/1")(&s)
	s.Wanted.Vars, s.Wanted.NetworkPlugin, s.Wanted.SSHUser = vars("1"), "other", "admin"
	step, _ := Next(s)
	want := wanted("m1 w1 w2 s=1/1")
	want.KubernetesVersion, want.Vars, want.SSHUser = "1.34.7", vars("1"), "admin"
	want.Operation, want.Complete, want.Lost, want.Kept = contract.OperationUpgradeNodes, true, []string{"w2"}, []string{"w2"}
	want.Upgrade = &contract.Upgrade{Nodes: []string{"w1", "s-1"}, From: "1.33.5", Path: []string{"1.34.7", "1.35.4"}, DrainSeconds: 90}
	for _, n := range s.Installed.Nodes {
		n.Version, n.Settings = s.Installed.Level(n)
		want.Members = append(want.Members, n)
	}
	if diff := cmp.Diff(want, step.Request); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVersionOfNewNodes: a new node works with the API servers that there are.
func TestVersionOfNewNodes(t *testing.T) {
	for _, r := range []struct{ name, nodes, lost, want string }{
		{"before the upgrade", "", "w1", "1.34.3"},
		{"some control planes are upgraded", "m1=1.35.4/1", "w1", "1.34.3"},
		{"all control planes are upgraded", "m1=1.35.4/1 m2=1.35.4/1 m3=1.35.4/1", "w1", "1.35.4 with 1"},
		{"the variables are those of another edit", "m1=1.35.4/7 m2=1.35.4/7 m3=1.35.4/7", "w1", "1.35.4"},
		{"a control plane node after the first one", "m1=1.35.4/1", "m2", "1.35.4 with 1"},
		{"the first control plane node", "m1=1.35.4/1", "m1", "1.34.3"},
	} {
		s := State{Installed: installed("m1 m2 m3 w1 w2", "m1 m2 m3 w1 w2"), Wanted: wanted("m1 m2 m3 w1 w2"), Lost: map[string]bool{r.lost: true}}
		at("1.34.3", r.nodes)(&s)
		s.Wanted.Vars = vars("1")
		step, _ := Next(s)
		got := step.Request.KubernetesVersion
		if value, set := step.Request.Vars["a"]; set {
			got += fmt.Sprintf(" with %s", value)
		}
		if got != r.want || len(step.Replace) != 1 {
			t.Errorf("%s: %s gets %s, want %s", r.name, step, got, r.want)
		}
	}
}

// TestARemovalDuringAnUpgrade: the only node that lacks the requested variables leaves. The record must have these
// variables then: with the former ones, the next change that needs no drain would drain all nodes.
func TestARemovalDuringAnUpgrade(t *testing.T) {
	s := State{Installed: installed("m1 w1 w2", "m1 w1 w2"), Wanted: wanted("m1 w1")}
	at("1.35.4", "m1=1.35.4/1 w1=1.35.4/1")(&s)
	s.Wanted.Vars = vars("1")
	step, _ := Next(s)
	if step.Operation != contract.OperationRemoveNodes || step.Request.Settings() != s.Wanted.Settings() {
		t.Errorf("%s has the variables %s", step, step.Request.Vars)
	}
	if all := step.Request.Members; all[2].Settings != s.Installed.Request.Settings() {
		t.Errorf("w2 was not upgraded, and has the settings %s", all[2].Settings)
	}
}

func TestUpgrading(t *testing.T) {
	s := State{Installed: installed("m1 w1 w2", "m1 w1 w2"), Wanted: wanted("m1 w1 w2"), Lost: map[string]bool{}}
	if p := Upgrading(s); p != nil {
		t.Errorf("no upgrade is requested: %+v", p)
	}
	at("1.34.3", "m1=1.35.4 w1=1.35.4")(&s)
	want := &Progress{From: "1.34.3", To: "1.35.4", Hop: "1.35.4", Newest: "1.35.4", Done: 2, Total: 3, Versions: "1.35.4: m1, w1; 1.34.3: w2"}
	if diff := cmp.Diff(want, Upgrading(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Wanted.KubernetesVersion = "1.34.3" // refused, and the upgrade has begun
	want.To, want.Hop, want.Done = "1.34.3", "", 0
	if diff := cmp.Diff(want, Upgrading(s)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	at("1.34.3", "m1=1.34.3/1 w1=1.34.3")(&s)
	s.Wanted.Vars = vars("1")
	if p := Upgrading(s); p.Versions != "1.34.3 with the requested settings: m1; 1.34.3 with earlier settings: w1, w2" {
		t.Errorf("versions: %s", p.Versions)
	}
}

// TestHalfChangedNode: a version that a run has begun to give to a node is the newest one of the cluster,
// even if it is the only node. A kubespray release cannot go back either.
func TestHalfChangedNode(t *testing.T) {
	s := State{Installed: installed("m1", "m1"), Wanted: wanted("m1"), Lost: map[string]bool{}}
	at("1.34.3", "m1=1.34.3>1.35.4")(&s)
	s.Wanted.KubernetesVersion = "1.34.3"
	if steps := Plan(s); len(steps) > 0 {
		t.Errorf("steps %v", describe(steps))
	}
	if all := Refused(s); len(all) != 1 || !strings.Contains(all[0].Text, "the cluster has Kubernetes 1.35.4, and a downgrade to 1.34.3 is not supported") {
		t.Errorf("refused %+v", all)
	}
	want := &Progress{From: "1.34.3", To: "1.34.3", Newest: "1.35.4", Total: 1, Versions: "1.34.3, upgrade to 1.35.4 not complete: m1"}
	if diff := cmp.Diff(want, Upgrading(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Wanted.KubernetesVersion, s.Installed.Nodes[0].Target = "1.34.3", &contract.Target{Version: "1.34.3", Settings: "v2.32.0/1"}
	if all := Refused(s); len(all) != 1 || !strings.Contains(all[0].Text, "the cluster has kubespray release v2.32.0") {
		t.Errorf("refused %+v", all)
	}
	if p := Upgrading(s); p == nil || p.Versions != "1.34.3, other settings not complete: m1" {
		t.Errorf("progress %+v", p)
	}
}
