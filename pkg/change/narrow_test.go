package change

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// variables returns variables from words NAME=JSON.
func variables(text string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		all[name] = json.RawMessage(value)
	}
	return all
}

// had sets the variables of the record, and begun those that a run has begun to apply without a drain: as
// VARIABLES in the record of all nodes.
func had(vars string) func(*State) {
	return func(s *State) { s.Installed.Request.Vars = variables(vars) }
}

func begun(vars string, names ...string) func(*State) {
	return func(s *State) {
		settings := contract.Request{Spec: contract.Spec{Vars: variables(vars)}}.Settings()
		for i := range s.Installed.Nodes {
			s.Installed.Nodes[i].Target = &contract.Target{Version: "1.35.4", Settings: settings, Variables: names}
		}
	}
}

// TestPlanOfNarrowVariables: all nodes have 1.35.4.
func TestPlanOfNarrowVariables(t *testing.T) {
	lost := func(name string, replaced bool) func(*State) { return func(s *State) { s.Lost[name] = replaced } }
	dns := "configure: apply variables dns_memory_limit to the cluster, without a drain"
	rolling := []string{"upgrade-control-plane: give m1 the requested settings", "upgrade-nodes: give w1 the requested settings"}
	for _, r := range []struct {
		name, nodes, want, vars string
		change                  []func(*State)
		plan                    []string
		waits                   string // after the plan
	}{
		{"one variable", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, nil, []string{dns}, ""},
		{"two variables of two addons", "m1 w1", "m1 w1", `dns_memory_limit="1Gi" metrics_server_enabled=true`, nil,
			[]string{"configure: apply variables dns_memory_limit, metrics_server_enabled to the cluster, without a drain"}, ""},
		{"back to the default", "m1 w1", "m1 w1", "", []func(*State){had("dns_memory_limit=1")}, []string{dns}, ""},
		{"an addon is switched off", "m1 w1", "m1 w1", "", []func(*State){had("metrics_server_enabled=true")},
			[]string{"configure: apply variables metrics_server_enabled to the cluster, without a drain (kubespray does not remove what metrics_server_enabled has installed: delete it with kubectl)"}, ""},
		{"with another variable", "m1 w1", "m1 w1", `dns_memory_limit="1Gi" kubelet_max_pods=200`, nil, rolling, ""},
		{"with a newer version", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){at("1.34.3", "")},
			[]string{"upgrade-control-plane: upgrade m1 to 1.35.4", "upgrade-nodes: upgrade w1 to 1.35.4"}, ""},
		{"with a newer release", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){func(s *State) { s.Wanted.Release = "v2.32.0" }}, rolling, ""},
		{"of another release", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){func(s *State) { s.Wanted.Release, s.Installed.Request.Release = "v2.32.0", "v2.32.0" }}, rolling, ""},
		{"another name of the same release", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){func(s *State) { s.Wanted.Release = "v2.31.0" }}, []string{dns}, ""},
		{"a refused variable", "m1 w1", "m1 w1", `dns_memory_limit="1Gi" dns_domain="x"`, nil, nil, ""},
		{"no pause after the control plane", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){func(s *State) { s.Rollout.PauseAfterControlPlane = true }}, []string{dns}, ""},

		{"in the middle of an upgrade", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){at("1.35.4", "m1=1.35.4/1")}, rolling, ""},
		{"after a failed upgrade", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){at("1.35.4", "m1=1.35.4>1.35.4/1")}, rolling, ""},
		{"again after a failure", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){begun(`dns_memory_limit="1Gi"`, "dns_memory_limit")}, []string{dns}, ""},
		{"taken back after a failure", "m1 w1", "m1 w1", "", []func(*State){begun(`dns_memory_limit="1Gi"`, "dns_memory_limit")}, []string{dns}, ""},
		{"another one after a failure", "m1 w1", "m1 w1", "metrics_server_enabled=true", []func(*State){begun(`dns_memory_limit="1Gi"`, "dns_memory_limit")},
			[]string{"configure: apply variables dns_memory_limit, metrics_server_enabled to the cluster, without a drain"}, ""},
		{"one that needs a drain after a failure", "m1 w1", "m1 w1", "kubelet_max_pods=200", []func(*State){begun(`dns_memory_limit="1Gi"`, "dns_memory_limit")}, rolling, ""},
		{"a version with a pause after a failure", "m1 w1", "m1 w1", "", []func(*State){at("1.34.3", ""), func(s *State) {
			begun("", "dns_memory_limit")(s)
			for i := range s.Installed.Nodes {
				s.Installed.Nodes[i].Target.Version = "1.34.3"
			}
			s.Rollout.PauseAfterControlPlane = true
		}}, []string{"upgrade-control-plane: upgrade m1 to 1.35.4"},
			"all control plane nodes have 1.35.4, and spec.upgrade.pauseAfterControlPlane keeps the workers at their version: set it to false to upgrade them"},
		{"a failed upgrade after a failure", "m1 w1", "m1 w1", "", []func(*State){begun(`dns_memory_limit="1Gi"`, "dns_memory_limit"), func(s *State) {
			s.Installed.Nodes[0].Target = &contract.Target{Version: "1.35.4", Settings: "x"}
		}}, []string{rolling[0], dns}, ""},
		{"a node was added after a failure", "m1 w1 w2", "m1 w1 w2", "", []func(*State){begun("", "dns_memory_limit"), func(s *State) { s.Installed.Nodes[2].Target = nil }}, []string{dns}, ""},

		{"a new node gets them at once", "m1 w1", "m1 w1 w2", `dns_memory_limit="1Gi"`, nil, []string{dns, "add-nodes: add w2"}, ""},
		{"a node that is not requested leaves first", "m1 w1 w2", "m1 w1", `dns_memory_limit="1Gi"`, nil, []string{"remove-nodes: remove w2", dns}, ""},
		{"a lost worker does not matter", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){lost("w1", false)}, []string{dns}, ""},
		{"a lost worker is replaced first", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){lost("w1", true)}, []string{"add-nodes: replace w1", dns}, ""},
		{"a variable of all nodes", "m1 w1", "m1 w1", `node_labels={"a":"b"}`, nil, []string{"configure: apply variables node_labels to the cluster, without a drain"}, ""},
		{"a variable of all nodes waits for a lost one", "m1 w1", "m1 w1", `node_labels={"a":"b"}`, []func(*State){lost("w1", false)}, nil,
			"the variables node_labels concern all nodes: restore, replace or remove w1"},
		{"a DaemonSet waits for a lost worker", "m1 w1", "m1 w1", "dns_memory_limit=1 nodelocaldns_memory_limit=1", []func(*State){lost("w1", false)}, nil,
			"the variables nodelocaldns_memory_limit change a DaemonSet, which may not replace its pods while nodes are lost: restore, replace or remove w1"},
		{"a half patched worker is completed before", "m1 w1 w2", "m1 w1 w2", `dns_memory_limit="1Gi"`, []func(*State){patches("monday", "w1=>monday")},
			[]string{"upgrade-nodes: patch the operating system of w1", dns, "upgrade-control-plane: patch the operating system of m1", "upgrade-nodes: patch the operating system of w2"}, ""},
		{"a half patched node after the request was taken back", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){patches("", "m1=>monday")},
			[]string{"upgrade-control-plane: patch the operating system of m1", dns}, ""},
		{"a half patched worker that is lost", "m1 w1", "m1 w1", `dns_memory_limit="1Gi"`, []func(*State){patches("", "w1=>monday"), lost("w1", false)}, []string{dns},
			"w1: lost, and not patched; the upgrade ends when each such node is back, is replaced, or is removed from the spec"},
		{"a lost control plane node", "m1 m2 m3", "m1 m2 m3", `dns_memory_limit="1Gi"`, []func(*State){lost("m3", false)}, nil,
			"no node is upgraded while a control plane node is lost: restore or replace m3"},
	} {
		t.Run(r.name, func(t *testing.T) {
			s := State{Installed: installed(r.nodes, r.nodes), Wanted: wanted(r.want), Lost: map[string]bool{}, DrainSeconds: 60}
			if s.Wanted.Vars = variables(r.vars); r.vars == "" {
				s.Wanted.Vars = nil
			}
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
				t.Errorf("after the plan: %q, want %q", waits, r.waits)
			}
		})
	}
}

// TestRequestBeforeNarrowVariables: a node that is half patched keeps the variables of the record.
func TestRequestBeforeNarrowVariables(t *testing.T) {
	s := State{Installed: installed("m1 w1", "m1 w1"), Wanted: wanted("m1 w1"), Lost: map[string]bool{}}
	had(`dns_memory_limit="1Gi"`)(&s)
	s.Wanted.Vars = variables(`dns_memory_limit="2Gi"`)
	patches("", "w1=>monday")(&s)
	step, _ := Next(s)
	if r := step.Request; !r.OnlyPatches() || r.Upgrade.Patch != "monday" || r.Settings() != s.Installed.Request.Settings() || r.Members[0].Version != "" {
		t.Errorf("request %+v with %+v", r, r.Upgrade)
	}
	if p := Upgrading(s); p == nil || !p.OnlyPatch || p.Waits != "" || p.Done != 1 {
		t.Errorf("progress %+v", p)
	}
}

// TestNarrowVariablesBeforeAPatch: the variables are those of the cluster although nodes are to be patched.
func TestNarrowVariablesBeforeAPatch(t *testing.T) {
	s := State{Installed: installed("m1 w1", "m1 w1"), Wanted: wanted("m1 w1"), Lost: map[string]bool{}}
	s.Wanted.Vars = variables(`dns_memory_limit="1Gi"`)
	patches("monday", "")(&s)
	step, _ := Next(s)
	if after := s.after(step).Installed; after.Request.Settings() != s.Wanted.Settings() || after.Nodes[0].Settings != "" || after.Nodes[0].Patched != "" {
		t.Errorf("after %s: %+v", step, after)
	}
}

// TestRequestOfNarrowVariables: the run gets all variables of the spec, and says which of them it applies how.
func TestRequestOfNarrowVariables(t *testing.T) {
	s := State{Installed: installed("m1 m2 m3 w1", "m1 m2 m3 w1"), Wanted: wanted("m1 m2 m3 w1"), Lost: map[string]bool{"w1": false}}
	had("metrics_server_replicas=2 local_path_provisioner_namespace=\"volumes\"")(&s)
	s.Wanted.Vars = variables(`metrics_server_replicas=3 metrics_server_enabled=true local_path_provisioner_enabled=true local_path_provisioner_namespace="volumes"`)
	step, ok := Next(s)
	if !ok || step.Operation != contract.OperationConfigure {
		t.Fatalf("step %v", step)
	}
	want := contract.Upgrade{Nodes: []string{"m1", "m2", "m3", "w1"}, From: "1.35.4", Path: []string{"1.35.4"}, Narrow: &contract.Narrow{
		Variables: []string{"local_path_provisioner_enabled", "metrics_server_enabled", "metrics_server_replicas"},
		Tags:      []string{"local-path-provisioner", "metrics_server"}, On: contract.OnControlPlanes, Namespaces: []string{"kube-system", "volumes"},
	}}
	if diff := cmp.Diff(want, *step.Request.Upgrade); diff != "" {
		t.Errorf("upgrade (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.Wanted.Vars, step.Request.Vars); diff != "" || !cmp.Equal(step.Request.Kept, []string{"w1"}) {
		t.Errorf("variables (-want +got):\n%s\nlost %v", diff, step.Request.Kept)
	}
	for _, n := range step.Request.Members {
		if n.Settings != s.Installed.Request.Settings() || n.Version != "1.35.4" {
			t.Errorf("member %s has version %s and settings %s, want those of the record", n.Name, n.Version, n.Settings)
		}
	}
}
