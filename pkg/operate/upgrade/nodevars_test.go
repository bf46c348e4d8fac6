package upgrade_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// own gives the workers, which are a node set, variables of their own.
func own(r *contract.Request, text string) {
	r.Sets = []contract.Set{{Name: "worker", Roles: []string{contract.RoleWorker}, Active: 2, Vars: vars(text)}}
}

// The record of a node has the settings that the node itself gets, while a playbook changes it and after that.
func TestUpgradeOfVariablesOfASet(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	r := &u.In.Request
	r.KubernetesVersion, r.Upgrade.Path = "1.34.3", []string{"1.34.3"}
	own(r, `{"kubelet_max_pods":250}`)
	u.Render()
	u.fails("worker-1")
	if _, err := u.Run(); err == nil || task.FailureOf(err).Reason != contract.ReasonPlaybookFailed {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	settings := r.SettingsOf(contract.Node{Name: "worker-1", Set: "worker"})
	want := map[string]*contract.Target{"worker-1": {Version: "1.34.3", Settings: settings}}
	for _, n := range u.Now().Nodes {
		if diff := cmp.Diff(want[n.Name], n.Target); diff != "" {
			t.Errorf("target of %s (-want +got):\n%s", n.Name, diff)
		}
	}
	for i, worker := range []string{"worker-1", "worker-2"} {
		u.Did, r.Upgrade.Nodes, r.Members = nil, []string{worker}, u.Now().Nodes
		if _, err := u.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &u.Log)
		}
		if !u.played("upgrade-cluster.yml " + worker) {
			t.Errorf("the run did %v", u.Did)
		}
		record := u.Now()
		for j, n := range record.Nodes { // the first one is a control plane
			if _, got := record.Level(n); (got == settings) != (j > 0 && j <= i+1) || n.Target != nil {
				t.Errorf("after %s, node %s has the settings %s", worker, n.Name, got)
			}
		}
	}
	record := u.Now()
	if diff := cmp.Diff(map[string]json.RawMessage(vars(`{"kubelet_max_pods":250}`)), record.Request.VarsOf(record.Nodes[1])); diff != "" {
		t.Errorf("variables of worker-1 in the record (-want +got):\n%s", diff)
	}
}

// A run with other variables of the node is another change: what was available before the first one must be available
// before it.
func TestNotedWithOtherVariablesOfANode(t *testing.T) {
	for _, other := range []bool{false, true} {
		u := newUpgrading(t, false, 1, 2, "worker-1")
		u.In.HealthLimit = 2e9
		r := &u.In.Request
		r.KubernetesVersion, r.Upgrade.Path = "1.34.3", []string{"1.34.3"}
		own(r, `{"kubelet_max_pods":250}`)
		u.Render()
		u.runs("Deployment shop/web", 2, 2)
		u.fails("worker-1")
		if _, err := u.Run(); err == nil {
			t.Fatal("no failure")
		}
		u.Did, u.workloads["Deployment shop/web"].available = nil, 1
		if other {
			own(r, `{"kubelet_max_pods":60}`)
			u.Render()
		}
		_, err := u.Run()
		if played := u.played("upgrade-cluster.yml worker-1"); err == nil || played == other {
			t.Errorf("other variables %t: played %t, %v", other, played, err)
		}
	}
}
