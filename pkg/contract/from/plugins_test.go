package from

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// namesOf returns the plugins of a spec: NAME, and why it is skipped, or who needs it.
func namesOf(t *testing.T, text string, fit func(plugin.Definition) Fit) []string {
	t.Helper()
	p := written(t, spec(text))
	all, found := Plugins(&p.Spec, fit)
	if len(found) > 0 {
		t.Fatal(found)
	}
	var names []string
	for _, one := range all {
		names = append(names, strings.TrimSpace(one.Name+" "+one.Skip+strings.Join(one.NeededBy, ",")+one.Source))
	}
	return names
}

func TestPlugins(t *testing.T) {
	noSRIOV := func(d plugin.Definition) Fit {
		if d.Nodes.SRIOV {
			return Fit{Skip: "no node has SR-IOV"}
		}
		return Fit{Hosts: []string{"host-1"}}
	}
	for _, r := range []struct {
		text string
		fit  func(plugin.Definition) Fit
		want []string
	}{
		{"masters: [{m: {cpu: 8}}]", AnyHost, nil},
		{"KUDPlugins: [sriov-network]", AnyHost, []string{"multus sriov-network", "nfd sriov-network", "sriov-network"}},
		{"KUDPlugins: [sriov-network]", noSRIOV, []string{"sriov-network no node has SR-IOV"}},
		{"KUDPlugins: [sriov-network, nfd]", noSRIOV, []string{"nfd", "sriov-network no node has SR-IOV"}},
		{"KUDPlugins: [topology-manager, multus]", noSRIOV, []string{"multus", "topology-manager " + plugin.Shipped()["topology-manager"].WhyRetired()}},
		{"KUDPlugins: [emco]\nplugins: {emco: {version: v1, parameters: {a: 1}}}", AnyHost, []string{"emco " + plugin.Shipped()["emco"].WhyRetired()}},
		{"KUDPlugins: [ours, multus]\nplugins: {ours: {version: v1}}", AnyHost, []string{"multus", "ours plugins/ours:v1"}},
	} {
		got := namesOf(t, r.text, r.fit)
		slices.SortFunc(got, func(a, b string) int { // the order of needs is that of package plugin
			return strings.Compare(strings.Replace(a, "sriov-network no", "z", 1), strings.Replace(b, "sriov-network no", "z", 1))
		})
		if diff := cmp.Diff(r.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.text, diff)
		}
	}
}

// TestPluginIntent: the intent follows what the user writes, in any notation, and whether the plugin is
// skipped. It does not follow the version and the defaults that BPA ships.
func TestPluginIntent(t *testing.T) {
	intentOf := func(text string, fit func(plugin.Definition) Fit) string {
		t.Helper()
		p := written(t, spec(text))
		all, found := Plugins(&p.Spec, fit)
		if len(found) > 0 || len(all) != 1 {
			t.Fatalf("%v, %v", all, found)
		}
		return all[0].Intent
	}
	skipped := func(plugin.Definition) Fit { return Fit{Skip: "no"} }
	plain := intentOf("KUDPlugins: [multus]", AnyHost)
	for text, same := range map[string]bool{
		"KUDPlugins: [multus]\nplugins: {multus: {}}":                                       true,
		"KUDPlugins: [multus]\nplugins: {multus: {parameters: {}}}":                         true,
		"KUDPlugins: [multus]\nplugins: {multus: {parameters: {logLevel: error}}}":          false, // the default, but the user insists on it
		"KUDPlugins: [multus]\nplugins: {multus: {version: v4.2.4}}":                        false,
		"KUDPlugins: [multus]\nplugins: {multus: {parameters: {logLevel: debug}}}":          false,
		"KUDPlugins: [multus]\nplugins: {multus: {parameters: {namespaceIsolation: true}}}": false,
	} {
		if got := intentOf(text, AnyHost); (got == plain) != same {
			t.Errorf("%s: same intent %t, want %t", text, got == plain, same)
		}
	}
	if intentOf("KUDPlugins: [multus]", skipped) == plain {
		t.Error("a skipped plugin has the intent of an installed one")
	}
	one := intentOf(`{KUDPlugins: [cpu-manager], plugins: {cpu-manager: {parameters: {"topologyScope": "pod",   "reservedCPU": "1"}}}}`, AnyHost)
	other := intentOf(`{KUDPlugins: [cpu-manager], plugins: {cpu-manager: {parameters: {"reservedCPU":"1","topologyScope":"pod"}}}}`, AnyHost)
	if one != other {
		t.Error("the intent depends on spaces or on the order of parameters")
	}
}

// TestPluginVars: a plugin's kubespray variables have its parameters, and are in every request of the cluster.
// Neither the digest of the cluster nor the settings that would upgrade nodes depend on them.
func TestPluginVars(t *testing.T) {
	const nodes = "masters: [{m: {cpu: 8}}]\n"
	plain := requestOf(t, written(t, spec(nodes)))
	with := requestOf(t, written(t, spec(nodes+"KUDPlugins: [cpu-manager]\nplugins: {cpu-manager: {parameters: {topologyPolicy: restricted}}}")))
	want := map[string]json.RawMessage{
		"kubelet_cpu_manager_policy": json.RawMessage(`"static"`), "kubelet_topology_manager_policy": json.RawMessage(`"restricted"`),
		"kubelet_topology_manager_scope": json.RawMessage(`"container"`),
	}
	for name, value := range want {
		if got := with.PluginVars[name]; string(got) != string(value) {
			t.Errorf("%s is %s, want %s", name, got, value)
		}
	}
	one, err1 := Digest(plain)
	other, err2 := Digest(with)
	if err1 != nil || err2 != nil || one != other || plain.Settings() != with.Settings() {
		t.Errorf("digests %s and %s, settings %s and %s, %v, %v", one, other, plain.Settings(), with.Settings(), err1, err2)
	}
}

func TestPluginProblem(t *testing.T) {
	for text, want := range map[string]string{
		"KUDPlugins: [multus]": "",
		"KUDPlugins: [multus]\nplugins: {multus: {version: v3}}": `plugin multus has no version "v3"; use version v4.2.4, or leave the version out`,
		"KUDPlugins: [frobnicator]":                              `BPA ships no plugin "frobnicator"; remove it from spec.KUDPlugins, or write the version of a plugin of the site to spec.plugins.frobnicator.version`,
	} {
		p := written(t, spec(text))
		if diff := cmp.Diff(want, PluginProblem(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if request := requestOf(t, p); (len(request.Plugins) == 0) != (want != "") {
			t.Errorf("%s: the request has the plugins %v", text, request.Plugins)
		}
	}
}

// TestAddPlugins merges what several plugins add, and forgets what was there.
func TestAddPlugins(t *testing.T) {
	r := contract.Request{Spec: contract.Spec{PluginVars: map[string]json.RawMessage{"old": nil}, PluginGroups: []contract.PluginGroup{{Name: "old"}}}}
	r.AddPlugins([]contract.Plugin{
		{Vars: map[string]json.RawMessage{"a": json.RawMessage("1")}, Groups: []contract.PluginGroup{{Name: "g", Members: "all"}}},
		{Vars: map[string]json.RawMessage{"b": json.RawMessage("2")}, Groups: []contract.PluginGroup{{Name: "g", Members: "fitting", Hosts: []string{"h"}}}},
	})
	want := contract.Request{
		Spec: contract.Spec{
			PluginVars:   map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage("2")},
			PluginGroups: []contract.PluginGroup{{Name: "g", Members: "all"}, {Name: "g", Members: "fitting", Hosts: []string{"h"}}},
		},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.AddPlugins([]contract.Plugin{}); r.PluginVars != nil || r.PluginGroups != nil {
		t.Errorf("without plugins: %+v", r)
	}
}
