package v1alpha1

import "testing"

func TestSummarize(t *testing.T) {
	for name, r := range map[string]struct {
		nodes           []NodeStatus
		ready, versions string
	}{
		"before hosts are claimed": {nil, "", ""},
		"installed":                {[]NodeStatus{{State: NodeReady, Version: "1.35.4"}, {State: NodeReady, Version: "1.35.4"}, {State: NodeStandby}}, "2/2", "1.35.4"},
		"a lost node":              {[]NodeStatus{{State: NodeReady, Version: "1.35.4"}, {State: NodeLost, Version: "1.35.4"}}, "1/2", "1.35.4"},
		"during an upgrade":        {[]NodeStatus{{State: NodeReady, Version: "1.35.4"}, {State: NodeReady, Version: "1.34.3"}}, "2/2", "1.34.3,1.35.4"},
	} {
		s := ProvisioningStatus{Nodes: r.nodes, NodesReady: "9/9", KubernetesVersion: "9"}
		if s.Summarize(); s.NodesReady != r.ready || s.KubernetesVersion != r.versions {
			t.Errorf("%s: %q and %q, want %q and %q", name, s.NodesReady, s.KubernetesVersion, r.ready, r.versions)
		}
	}
}
