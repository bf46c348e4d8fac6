package contract

import (
	"slices"
	"testing"
)

func TestGone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request Request
		want    []string
	}{
		{"nothing is lost", Request{}, nil},
		{"a request of an older build names only nodes that leave", Request{Lost: []string{"a"}}, []string{"a"}},
		{"a lost node stays", Request{Lost: []string{"a", "b"}, Kept: []string{"a"}}, []string{"b"}},
		{"all lost nodes stay", Request{Lost: []string{"a"}, Kept: []string{"a"}}, nil},
	} {
		if got := tc.request.Gone(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// An older task kubespray would misunderstand a request with Upgrade.Narrow, with a patch or with a restore,
// and drop from the record what a run has begun of these, so it must refuse them. It must not refuse
// the others.
func TestContractVersion(t *testing.T) {
	members := func(t *Target) []Node { return []Node{{Name: "a"}, {Name: "b", Target: t}} }
	for name, tc := range map[string]struct {
		r    Request
		want int
	}{
		"an installation":                 {Request{Operation: OperationInstall}, 1},
		"an upgrade":                      {Request{Operation: OperationUpgradeNodes, Upgrade: &Upgrade{Nodes: []string{"a"}}}, 1},
		"an upgrade after a failure":      {Request{Operation: OperationUpgradeNodes, Members: members(&Target{Version: "1.35.4"})}, 1},
		"narrow variables":                {Request{Operation: OperationConfigure, Upgrade: &Upgrade{Narrow: &Narrow{}}}, 2},
		"a patch":                         {Request{Operation: OperationUpgradeNodes, Upgrade: &Upgrade{Patch: "monday"}}, 2},
		"an addition after half a patch":  {Request{Operation: OperationAddNodes, Members: members(&Target{Patch: "monday"})}, 2},
		"an upgrade after half variables": {Request{Operation: OperationUpgradeNodes, Members: members(&Target{Version: "1.35.4", Variables: []string{"a"}})}, 2},
		"a reset after half a patch":      {Request{Operation: OperationReset, Members: members(&Target{Patch: "monday"})}, 1},
		"a restore":                       {Request{Operation: OperationRestore, Restore: &Restore{}}, 2},
		"variables in Secrets":            {Request{Operation: OperationInstall, SecretVars: map[string]string{"a": "1"}}, 3},
		"a reset with variables":          {Request{Operation: OperationReset, SecretVars: map[string]string{"a": "1"}}, 1},
	} {
		if got := tc.r.ContractVersion(); got != tc.want || got > Version {
			t.Errorf("%s has version %d, want %d", name, got, tc.want)
		}
	}
}
