package cluster

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCountPods(t *testing.T) {
	const output = "w-1\tRunning\t\tReplicaSet\nw-1\tPending\t\t\nw-1\tRunning\t\tDaemonSet\nw-2\tRunning\tfile\tNode\nw-2\tSucceeded\t\tJob\nw-2\tFailed\t\tJob\n" +
		"\tPending\t\tReplicaSet\nw-3\tUnknown\t\tStatefulSet Other\nnonsense\n"
	if diff := cmp.Diff(map[string]int{"w-1": 2, "w-3": 1}, countPods([]byte(output))); diff != "" {
		t.Errorf("pods per node (-want +got):\n%s", diff)
	}
}

func TestObstacle(t *testing.T) {
	const app = `{"metadata":{"namespace":"shop","name":"a","labels":{"app":"web"}}}`
	budget := func(name, selector, allowed string) string {
		return `{"metadata":{"namespace":"shop","name":"` + name + `"},"spec":{` + selector + `},"status":{"disruptionsAllowed":` + allowed + `}}`
	}
	const web, none = `"selector":{"matchLabels":{"app":"web"}}`, `"selector":{"matchExpressions":[{"key":"app","operator":"DoesNotExist"}]}`
	for name, tc := range map[string]struct {
		pod     string
		budgets []string
		why     string
		budget  string
	}{
		"no budget":                     {app, nil, "it was not evicted", ""},
		"a budget":                      {app, []string{budget("b", web, "0")}, "PodDisruptionBudget shop/b allows no disruption", "b"},
		"an empty selector":             {app, []string{budget("b", `"selector":{}`, "0")}, "PodDisruptionBudget shop/b allows no disruption", "b"},
		"no selector":                   {app, []string{budget("b", `"x":1`, "0")}, "it was not evicted", ""},
		"another selector":              {app, []string{budget("b", none, "0")}, "it was not evicted", ""},
		"a budget that allows it":       {app, []string{budget("b", web, "1")}, "it was not evicted", ""},
		"two budgets":                   {app, []string{budget("b", web, "1"), budget("c", web, "1")}, "2 PodDisruptionBudgets cover it, such as shop/b, and then no eviction is allowed", "b"},
		"another namespace":             {`{"metadata":{"namespace":"x","name":"a","labels":{"app":"web"}}}`, []string{budget("b", web, "0")}, "it was not evicted", ""},
		"it is deleted, but still runs": {`{"metadata":{"namespace":"shop","name":"a","labels":{"app":"web"},"deletionTimestamp":"2026-01-01T00:00:00Z"}}`, []string{budget("b", web, "0")}, "it is still terminating", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var p pod
			if err := json.Unmarshal([]byte(tc.pod), &p); err != nil {
				t.Fatal(err)
			}
			budgets := parseBudgets(t, tc.budgets...)
			why, b := obstacle(p, budgets)
			got := ""
			if b != nil {
				got = b.Metadata.Name
			}
			if why != tc.why || got != tc.budget {
				t.Errorf("%q, budget %q; want %q, %q", why, got, tc.why, tc.budget)
			}
		})
	}
}

func parseBudgets(t *testing.T, texts ...string) []budget {
	t.Helper()
	all := make([]budget, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
