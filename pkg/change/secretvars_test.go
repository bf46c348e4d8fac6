package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// secrets returns the change of the variable in a Secret from one value to another; empty: it is not in a Secret.
func secrets(variable, was, is string) func(*State) {
	of := func(digest string) map[string]string {
		if digest == "" {
			return nil
		}
		return map[string]string{variable: digest}
	}
	return func(s *State) { s.Installed.Request.SecretVars, s.Wanted.SecretVars = of(was), of(is) }
}

// TestPlanOfVariablesInSecrets: a value in a Secret changes the cluster as one in the spec does.
func TestPlanOfVariablesInSecrets(t *testing.T) {
	rolling := []string{"upgrade-control-plane: give m1 the requested settings", "upgrade-nodes: give w1 the requested settings"}
	narrow := []string{"configure: apply variables dns_memory_limit to the cluster, without a drain"}
	for name, r := range map[string]struct {
		change  []func(*State)
		plan    []string
		changed []string
	}{
		"the same value":      {[]func(*State){secrets("registry_password", "1", "1")}, nil, nil},
		"another value":       {[]func(*State){secrets("registry_password", "1", "2")}, rolling, []string{"registry_password"}},
		"a new variable":      {[]func(*State){secrets("registry_password", "", "2")}, rolling, []string{"registry_password"}},
		"no variable":         {[]func(*State){secrets("registry_password", "1", "")}, rolling, []string{"registry_password"}},
		"it needs no drain":   {[]func(*State){secrets("dns_memory_limit", "1", "2")}, narrow, []string{"dns_memory_limit"}},
		"beside one that is":  {[]func(*State){secrets("dns_memory_limit", "1", "2"), func(s *State) { s.Wanted.Vars = vars("1") }}, rolling, []string{"dns_memory_limit"}},
		"it was in the spec":  {[]func(*State){secrets("dns_memory_limit", "", "2"), had(`dns_memory_limit="1Gi"`)}, narrow, []string{"dns_memory_limit"}},
		"a switch of an item": {[]func(*State){secrets("metrics_server_enabled", "1", "2")}, rolling, []string{"metrics_server_enabled"}},
		"another one refers to it": {[]func(*State){secrets("dns_memory_limit", "1", "2"), had(`other="{{dns_memory_limit}}"`),
			func(s *State) { s.Wanted.Vars = variables(`other="{{dns_memory_limit}}"`) }}, rolling, []string{"dns_memory_limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := State{Installed: installed("m1 w1", "m1 w1"), Wanted: wanted("m1 w1"), Lost: map[string]bool{}}
			for _, change := range r.change {
				change(&s)
			}
			steps, after := Preview(s)
			if diff := cmp.Diff(r.plan, describe(steps)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(r.changed, SecretVars(s.Installed.Request, s.Wanted.Spec)); diff != "" {
				t.Errorf("changed variables (-want +got):\n%s", diff)
			}
			if after.Installed.Request.Settings() != s.Wanted.Settings() {
				t.Errorf("after the plan, the record has %+v", after.Installed.Request)
			}
		})
	}
}

// TestRequestsHavePresentSecrets: a node that replaces a lost one before an upgrade gets the present value, because no
// other one exists. The other nodes are still upgraded to it.
func TestRequestsHavePresentSecrets(t *testing.T) {
	s := State{Installed: installed("m1 w1 w2", "m1 w1 w2"), Wanted: wanted("m1 w1 w2"), Lost: map[string]bool{"w2": true}}
	secrets("registry_password", "1", "2")(&s)
	was := s.Installed.Request.Settings()
	step, ok := Next(s)
	if !ok || step.Operation != contract.OperationAddNodes || step.Request.SecretVars["registry_password"] != "2" {
		t.Fatalf("step %s with %v", step, step.Request.SecretVars)
	}
	for _, n := range step.Request.Members {
		if n.Settings != was {
			t.Errorf("member %s counts as having %q, want %q", n.Name, n.Settings, was)
		}
	}
	want := []string{"add-nodes: replace w2", "upgrade-control-plane: give m1 the requested settings", "upgrade-nodes: give w1 the requested settings"}
	steps, _ := Preview(s)
	if diff := cmp.Diff(want, describe(steps)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// TestPatchBeforeNarrowSecrets: a run that only completes a patch has the level of the record, whose values no playbook
// reads.
func TestPatchBeforeNarrowSecrets(t *testing.T) {
	s := State{Installed: installed("m1 w1", "m1 w1"), Wanted: wanted("m1 w1"), Lost: map[string]bool{}}
	secrets("dns_memory_limit", "1", "2")(&s)
	patches("", "w1=>monday")(&s)
	step, _ := Next(s)
	if r := step.Request; !r.OnlyPatches() || r.Settings() != s.Installed.Request.Settings() || r.SecretVars["dns_memory_limit"] != "1" {
		t.Errorf("request %+v with %+v", r, r.Upgrade)
	}
}
