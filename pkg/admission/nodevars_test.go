package admission

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

func TestNodeVariableRules(t *testing.T) {
	const shared = "\nall nodes of a cluster have the same value of it: set it in spec.kubespray.vars"
	of := func(name string) string {
		return name + " cannot be set for one node or one node set: spec.nodeSets[0].vars." + name
	}
	vars := func(text string) string { return set("vars: {" + text + "}") }
	checkRules(t, []rule{
		{"good", vars("kubelet_max_pods: 250, containerd_storage_options: {a: [1]}, gvisor_enabled: true, http_proxy: 'http://a', of_the_site: 1"), ""},
		{"of a secret", vars("x: 1") + "\nkubespray: {varsFrom: [{secretRef: {name: s, key: k}, variable: x}], vars: {y: 1}}", ""},
		{"name", vars("'a b': 1"), `"a b" is not a variable name: spec.nodeSets[0].vars` + "\nuse letters, digits and underscores, and begin with a letter or underscore"},
		{"version", vars("kube_version: 1.35.4"), of("kube_version") + "\nset spec.kubernetes.version"},
		{"connection", vars("ansible_host: a"), of("ansible_host") + "\nBPA configures the connection: use spec.ssh, and the address in the BareMetalHost"},
		{"address", vars("ip: 10.0.0.1"), of("ip") + "\nBPA sets it for each node"},
		{"labels", vars("node_labels: {a: b}"), of("node_labels") + "\nwrite them as labels of the node"},
		{"taints", vars("node_taints: []"), of("node_taints") + "\nwrite them as taints of the node"},
		{"mirrors", vars("containerd_registries_mirrors: []"), of("containerd_registries_mirrors") + shared},
		{"fixed", vars("containerd_storage_dir: /data"), of("containerd_storage_dir") + shared},
		{"needs no drain", vars("dns_memory_limit: 1Gi"), of("dns_memory_limit") + shared},
		{"control plane", vars("kube_apiserver_request_timeout: 1m"), of("kube_apiserver_request_timeout") + shared},
		{"artifact", vars("containerd_version: 2.0.0"), of("containerd_version") + shared},
		{"depth", vars("a: " + strings.Repeat("[", 51) + strings.Repeat("]", 51)), "the value of a is nested more than 50 deep: spec.nodeSets[0].vars.a\nwrite a flatter value"},
		{"brackets in a text", vars("a: '" + strings.Repeat("[", 51) + "'"), ""},
		{"size", vars("a: " + strings.Repeat("x", mostNodeVars)), fmt.Sprintf("the variables have %d bytes, more than the limit of %d: spec.nodeSets[0].vars\nset large values in spec.kubespray.vars", mostNodeVars+3, mostNodeVars)},
		{"of a worker", one + "workers: [{w: {cpu: 1, vars: {ip: a}}}]", "ip cannot be set for one node or one node set: spec.workers[0].w.vars.ip\nBPA sets it for each node"},
		{"both roles", "masters: [{m: {cpu: 1, vars: {a: 1}}}]\nworkers: [{m: {vars: {a: 1, b: 2}}}]", ""},
		{"roles contradict", "masters: [{m: {cpu: 1, vars: {a: 1}}}]\nworkers: [{m: {vars: {a: 2}}}]", "2 contradicts spec.masters[0].m (1): spec.workers[0].m.vars.a\na worker with a master's name is the same node: write it once"},
		{"no requirement", one + "workers: [{w: {vars: {a: 1}}}]", `worker "w" has no host requirements: spec.workers[0].w` + "\n" + nothingAdvice},
	})
	for _, f := range upgrade.FixedVariables {
		for _, name := range f.Names {
			if nodeVariable(name) == "" {
				t.Errorf("%s, which cannot change, can differ between nodes", name)
			}
		}
	}
}

func TestSizeOfNodeVariables(t *testing.T) {
	s := v1alpha1.ProvisioningSpec{NodeSets: []v1alpha1.NodeSet{{Name: "s", Count: v1alpha1.NodeCount{Active: 256}}}}
	s.NodeSets[0].Vars = map[string]apiextensionsv1.JSON{"a": {Raw: []byte(strings.Repeat("1", 1023))}}
	if err := validateSizeOfNodeVars(&s); err != nil {
		t.Error(err)
	}
	s.Masters = []map[string]v1alpha1.Master{{"m": {NodeVars: v1alpha1.NodeVars{Vars: map[string]apiextensionsv1.JSON{"a": {}}}}}}
	if err := validateSizeOfNodeVars(&s); err == nil || !strings.Contains(err.Error(), "262145 bytes") {
		t.Errorf("%v", err)
	}
}

func TestSlotsHaveVariables(t *testing.T) {
	slots, err := provisioning(t, "masters: [{m: {cpu: 1, vars: {a: 1, c: 3}}}]\nworkers: [{m: {vars: {a: 1, b: 2}}}]").Spec.Slots()
	if err != nil || len(slots[0].Vars) != 3 || string(slots[0].Vars["b"].Raw) != "2" {
		t.Errorf("slots %+v %v", slots, err)
	}
}
