package facts

import (
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

func TestGrants(t *testing.T) {
	labels := map[string]string{"team": "radio", "stage": ""}
	pair := func(name, value string) []metal3.NameValuePair {
		return []metal3.NameValuePair{{Name: name, Value: value}}
	}
	for what, row := range map[string]struct {
		to   *metal3.HostClaimNamespaces
		want bool
	}{
		"no condition at all":            {nil, false},
		"an empty condition":             {&metal3.HostClaimNamespaces{}, true},
		"its name":                       {&metal3.HostClaimNamespaces{Names: []string{"x", "tenant-a"}}, true},
		"another name":                   {&metal3.HostClaimNamespaces{Names: []string{"tenant"}}, false},
		"an empty list":                  {&metal3.HostClaimNamespaces{Names: []string{}}, false},
		"an expression":                  {&metal3.HostClaimNamespaces{NameMatches: "^tenant-[ab]$"}, true},
		"an expression without anchors":  {&metal3.HostClaimNamespaces{NameMatches: "ant-"}, true},
		"an expression of others":        {&metal3.HostClaimNamespaces{NameMatches: "^ant-"}, false},
		"an invalid expression":          {&metal3.HostClaimNamespaces{NameMatches: "("}, false},
		"its label":                      {&metal3.HostClaimNamespaces{HasLabels: pair("team", "radio")}, true},
		"its label, with any value":      {&metal3.HostClaimNamespaces{HasLabels: pair("stage", "")}, true},
		"its label, with another value":  {&metal3.HostClaimNamespaces{HasLabels: pair("team", "core")}, false},
		"a label that it does not have":  {&metal3.HostClaimNamespaces{HasLabels: pair("site", "")}, false},
		"its name, but not its label":    {&metal3.HostClaimNamespaces{Names: []string{"tenant-a"}, HasLabels: pair("team", "core")}, false},
		"its name, but not the pattern":  {&metal3.HostClaimNamespaces{Names: []string{"tenant-a"}, NameMatches: "b$"}, false},
		"its name, the pattern, a label": {&metal3.HostClaimNamespaces{Names: []string{"tenant-a"}, NameMatches: "a$", HasLabels: pair("team", "")}, true},
	} {
		policy := &metal3.HostDeployPolicy{Spec: metal3.HostDeployPolicySpec{HostClaimNamespaces: row.to}}
		if got := Grants(policy, "tenant-a", labels); got != row.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

func TestMaxHosts(t *testing.T) {
	for value, want := range map[string]int{"5": 5, "0": 0, "-1": 0, "": 0, "five": 0} {
		if got := MaxHosts(value); got != want {
			t.Errorf("%q is %d, want %d", value, got, want)
		}
	}
}
