package inventory

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// sample returns a control plane, and workers on host-2 and host-3.
func sample() []contract.Node {
	all := []contract.Node{master("m-1", "10.60.0.1"), worker("w-1", "10.60.0.2"), worker("w-2", "10.60.0.3")}
	all[1].Host, all[2].Host = "host-2", "host-3"
	return all
}

// TestPluginVars: variables of plugins override those of BPA, and the user's override both.
func TestPluginVars(t *testing.T) {
	r := request()
	r.PluginVars = map[string]json.RawMessage{"auto_renew_certificates": json.RawMessage("false"), "mine": json.RawMessage(`"plugin"`), "theirs": json.RawMessage(`"plugin"`)}
	r.Vars = map[string]json.RawMessage{"theirs": json.RawMessage(`"user"`)}
	made, err := Render(r, sample())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := json.Unmarshal(made.GroupVars, &got); err != nil {
		t.Fatal(err)
	}
	if got["auto_renew_certificates"] != false || got["mine"] != "plugin" || got["theirs"] != "user" {
		t.Errorf("variables %s", made.GroupVars)
	}
	r.PluginVars = map[string]json.RawMessage{"ansible_host": json.RawMessage(`"x"`)}
	if _, err := Render(r, sample()); err == nil || !strings.Contains(err.Error(), "ansible_host") {
		t.Errorf("a variable of the connection: %v", err)
	}
}

// TestPluginGroups: the groups of plugins follow those of kubespray. Two plugins can add members to one group.
func TestPluginGroups(t *testing.T) {
	all := sample()
	r := request()
	r.PluginGroups = []contract.PluginGroup{
		{Name: "tuned", Members: "workers"}, {Name: "everyone", Members: "all"}, {Name: "planes", Members: "control-planes"},
		{Name: "special", Members: "fitting", Hosts: []string{all[len(all)-1].Host}}, {Name: "special", Members: "control-planes"},
	}
	made, err := Render(r, all)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(made.HostsINI), "[k8s_cluster:children]\nkube_control_plane\nkube_node\n")
	if !found {
		t.Fatalf("%s", made.HostsINI)
	}
	groups := map[string]int{}
	for _, part := range strings.Split(rest, "\n[")[1:] {
		name, members, _ := strings.Cut(part, "]\n")
		groups[name] = len(strings.Fields(members))
	}
	planes, workers := 0, 0
	for _, n := range all {
		planes += len(withRole([]contract.Node{n}, contract.RoleControlPlane))
		workers += len(withRole([]contract.Node{n}, contract.RoleWorker))
	}
	if groups["everyone"] != len(all) || groups["tuned"] != workers || groups["planes"] != planes || groups["special"] != planes+1 || len(groups) != 4 {
		t.Errorf("groups %v in\n%s", groups, rest)
	}
	for _, bad := range []contract.PluginGroup{{Name: "etcd", Members: "all"}, {Name: "a b", Members: "all"}, {Name: "a", Members: "some"}, {Name: "x]\n[etcd", Members: "all"}} {
		r.PluginGroups = []contract.PluginGroup{bad}
		if _, err := Render(r, all); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
