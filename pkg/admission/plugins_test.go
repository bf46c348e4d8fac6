package admission

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/plugin"
)

func TestPluginRules(t *testing.T) {
	const site = "; for a plugin of the site, write its version in the depot to spec.plugins."
	checkRules(t, []rule{
		{"name", one + "KUDPlugins: [multus, 'a b']",
			`"a b" is not a plugin name: spec.KUDPlugins[1]` + "\nuse at most 40 lower case letters, digits and dashes, and begin with a letter"},
		{"listed twice", one + "KUDPlugins: [multus, multus]", `plugin "multus" is listed twice: spec.KUDPlugins[1]` + "\nlist each plugin once"},
		{"the site's own, listed twice", one + "KUDPlugins: [ours, ours]\nplugins: {ours: {version: v1}}",
			`plugin "ours" is listed twice: spec.KUDPlugins[1]` + "\nlist each plugin once"},
		{"misspelt", one + "KUDPlugins: [mutlus]", `BPA ships no plugin "mutlus": spec.KUDPlugins[0]` + "\nuse multus" + site + "mutlus.version"},
		{"unknown", one + "KUDPlugins: [frobnicator]",
			`BPA ships no plugin "frobnicator": spec.KUDPlugins[0]` + "\n`kubectl bpa plugins` lists the plugins" + site + "frobnicator.version"},
		{"retired, listed twice", one + "KUDPlugins: [emco, emco]", `plugin "emco" is listed twice: spec.KUDPlugins[1]` + "\nlist each plugin once"},
		{"another version", one + "KUDPlugins: [multus]\nplugins: {multus: {version: v3}}",
			`plugin multus has no version "v3": spec.plugins.multus.version` + "\nuse version v4.2.4, or leave the version out"},
		{"settings only", one + "plugins: {multus: {version: v4.2.4}}",
			`plugin "multus" has settings, but is not requested: spec.plugins.multus` + "\nadd it to spec.KUDPlugins, or remove its settings"},
		{"a parameter that is no such value", one + "KUDPlugins: [cpu-manager]\nplugins: {cpu-manager: {parameters: {topologyPolicy: all}}}",
			`should be one of [none best-effort restricted single-numa-node]: spec.plugins.cpu-manager.parameters.topologyPolicy` + "\n" + `see "kubectl bpa plugins show cpu-manager"`},
		{"a misspelt parameter", one + "KUDPlugins: [cpu-manager]\nplugins: {cpu-manager: {parameters: {topologyPolice: none}}}",
			"there is no such parameter: spec.plugins.cpu-manager.parameters.topologyPolice\nuse topologyPolicy"},
		{"large parameters", one + "KUDPlugins: [ours, multus]\nplugins: {ours: {version: v1, parameters: {text: " + strings.Repeat("x", 40<<10) + "}}, multus: {parameters: {logLevel: " + strings.Repeat("x", 25<<10) + "}}}",
			"the parameters of all plugins have 66586 bytes together, and at most 65536 are possible: spec.plugins\nwrite less, such as the name of a ConfigMap instead of its content"},
		{"all at once", one + "KUDPlugins: [mutlus, multus]\nplugins: {multus: {parameters: {logLevel: loud}}}",
			`BPA ships no plugin "mutlus": spec.KUDPlugins[0]` + "\nuse multus" + site + "mutlus.version\n" +
				`should be one of [panic error verbose debug]: spec.plugins.multus.parameters.logLevel` + "\n" + `see "kubectl bpa plugins show multus"`},
	})
}

func TestPluginWarnings(t *testing.T) {
	for _, r := range []rule{
		{"plain", "KUDPlugins: [multus, nfd]", ""},
		{"a plugin of the site", "KUDPlugins: [ours]\nplugins: {ours: {version: v1}}",
			`BPA ships no plugin "ours": the depot must have it as plugins/ours:v1, which is checked before a host is claimed; ` +
				"`kubectl bpa plugins push DIR` uploads it: spec.KUDPlugins[0]"},
		{"needed plugins", "KUDPlugins: [sriov-network, multus]", "plugin nfd is installed too, because sriov-network needs it: spec.KUDPlugins"},
		{"the user's variable", "KUDPlugins: [cpu-manager]\nkubespray: {vars: {kubelet_cpu_manager_policy: none}}",
			"plugin cpu-manager sets this variable too; the value in the spec is used: spec.kubespray.vars.kubelet_cpu_manager_policy"},
		{"retired, with a successor", "KUDPlugins: [nfd, topology-manager]",
			"plugin topology-manager is skipped, because it is retired: " + plugin.Shipped()["topology-manager"].Reason +
				"; use cpu-manager instead. Remove it from the list: spec.KUDPlugins[1]"},
		{"retired, with settings", "KUDPlugins: [emco, bpa]\nplugins: {emco: {version: v1, parameters: {a: 1}}}",
			"plugin bpa is skipped, because it is retired: " + plugin.Shipped()["bpa"].Reason + ". Remove it from the list: spec.KUDPlugins[1]\n" +
				"plugin emco is skipped, because it is retired: " + plugin.Shipped()["emco"].Reason + ". Remove it from the list: spec.KUDPlugins[0]"},
	} {
		errs, got := findings(context.Background(), provisioning(t, one+r.spec))
		if diff := cmp.Diff([]string{"", r.want}, []string{errs, got}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.name, diff)
		}
	}
}

// TestStoredPluginsStayUsable: earlier versions accepted any name. Such an object can still be edited, and
// the name must be corrected when the list is.
func TestStoredPluginsStayUsable(t *testing.T) {
	old := provisioning(t, one+"KUDPlugins: [emco, odd]")
	paused, edited := old.DeepCopy(), old.DeepCopy()
	paused.Spec.Paused = true
	edited.Spec.KUDPlugins = append(edited.Spec.KUDPlugins, "multus")
	ctx := apis.WithinUpdate(context.Background(), old)
	if err := CheckProvisioning(ctx, paused).Filter(apis.ErrorLevel); err != nil {
		t.Errorf("it cannot be paused: %v", err)
	}
	if err := CheckProvisioning(ctx, edited).Filter(apis.ErrorLevel); err != nil {
		t.Errorf("a plugin cannot be added: %v", err) // the items of the list with errors are unchanged
	}
	edited.Spec.KUDPlugins[1] = "odder"
	if err := CheckProvisioning(ctx, edited).Filter(apis.ErrorLevel); err == nil {
		t.Error("another unknown name is accepted")
	}
}
