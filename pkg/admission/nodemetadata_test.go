package admission

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func TestNodeMetadataRules(t *testing.T) {
	const (
		adviceLabel = "\nwrite a label of your own, such as example.org/pool, or topology.kubernetes.io/zone"
		adviceTaint = "\nwrite a key of your own, such as dedicated"
		name        = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
		value       = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
	)
	checkRules(t, []rule{
		{"good", set("labels: {topology.kubernetes.io/zone: rack-1, pool: ''}, annotations: {example.org/Owner: 'any text'}, taints: [{key: gpu, effect: NoSchedule}, {key: gpu, effect: NoExecute}]"), ""},
		{"label name", set("labels: {'the pool': a}"), `"the pool" is not a label name: ` + name + ": spec.nodeSets[0].labels" + adviceLabel},
		{"label value", set("labels: {pool: 'the first'}"), `"the first" is not the value of a label: ` + value + ": spec.nodeSets[0].labels[pool]\nwrite at most 63 letters, digits, dashes, dots and underscores"},
		{"label of the kubelet", set("labels: {kubernetes.io/hostname: a}"), "label kubernetes.io/hostname is set by the kubelet: spec.nodeSets[0].labels" + adviceLabel},
		{"label of a role", set("labels: {node-role.kubernetes.io/control-plane: ''}"), "node-role.kubernetes.io/control-plane cannot be set: the roles of the node decide it: spec.nodeSets[0].labels" + adviceLabel},
		{"annotation of BPA", set("annotations: {bpa.akraino.org/applied-metadata: ''}"), "bpa.akraino.org/applied-metadata cannot be set: BPA uses this prefix itself: spec.nodeSets[0].annotations\nwrite an annotation of your own, such as example.org/owner"},
		{"annotation name", set("annotations: {'a b': ''}"), `"a b" is not the name of an annotation: ` + name + ": spec.nodeSets[0].annotations\nwrite a name such as example.org/owner"},
		{"too much", set("annotations: {a: " + strings.Repeat("x", mostMetadata) + "}"), "the labels, annotations and taints have 16385 bytes, more than the limit of 16384: spec.nodeSets[0].annotations\nstore large values elsewhere, and their name in the annotation"},
		{"taint of Kubernetes", set("taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"), "node.kubernetes.io/unschedulable cannot be set: Kubernetes' controllers set and remove taints with this prefix: spec.nodeSets[0].taints[0].key" + adviceTaint},
		{"taint of a role", set("taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]"), "node-role.kubernetes.io/control-plane cannot be set: the roles of the node decide it: spec.nodeSets[0].taints[0].key" + adviceTaint},
		{"taint key and effect", set("taints: [{key: 'a b', effect: Never, value: 'x y'}]"), `"Never" is not an effect: spec.nodeSets[0].taints[0].effect` + "\nuse NoSchedule, PreferNoSchedule or NoExecute\n" +
			`"a b" is not the key of a taint: ` + name + ": spec.nodeSets[0].taints[0].key\nwrite a name such as dedicated or example.org/gpu\n" +
			`"x y" is not the value of a taint: ` + value + ": spec.nodeSets[0].taints[0].value\nwrite at most 63 letters, digits, dashes, dots and underscores"},
		{"taint twice", set("taints: [{key: gpu, effect: NoSchedule}, {key: gpu, effect: NoSchedule, value: a}]"), "taints[0] has the same key and effect: spec.nodeSets[0].taints[1].key\nwrite each key and effect once"},
		{"of a master", "masters: [{m: {cpu: 1, labels: {'': a}}}]", `"" is not a label name: name part must be non-empty; ` + name + ": spec.masters[0].m.labels" + adviceLabel},
		{"labels are no requirement", one + "workers: [{w: {labels: {a: b}}}]", `worker "w" has no host requirements: spec.workers[0].w` + "\n" + nothingAdvice},
		{"both roles", "masters: [{m: {cpu: 1, labels: {a: b}}}]\nworkers: [{m: {labels: {a: b, c: d}}}]", ""},
		{"roles contradict in a label", "masters: [{m: {cpu: 1, labels: {a: b}}}]\nworkers: [{m: {labels: {a: c}}}]", `"c" contradicts spec.masters[0].m ("b"): spec.workers[0].m.labels[a]` + "\na worker with a master's name is the same node: write it once"},
		{"roles contradict in a taint", "masters: [{m: {cpu: 1, taints: [{key: a, value: b, effect: NoSchedule}]}}]\nworkers: [{m: {taints: [{key: a, value: c, effect: NoSchedule}]}}]",
			`"c" contradicts spec.masters[0].m ("b"): spec.workers[0].m.taints[0].value` + "\na worker with a master's name is the same node: write it once"},
		{"labels twice", set("labels: {a: b}") + "\nkubespray: {vars: {node_labels: {c: d}}}", "nodes have labels too: spec.kubespray.vars.node_labels\nmove the values into labels of the nodes and node sets"},
		{"taints twice", "masters: [{m: {cpu: 1, taints: [{key: a, effect: NoSchedule}]}}]\nkubespray: {vars: {node_taints: ['b=:NoSchedule']}}", "nodes have taints too: spec.kubespray.vars.node_taints\nmove the values into taints of the nodes and node sets"},
		{"labels here, taints there", set("labels: {a: b}") + "\nkubespray: {vars: {node_taints: ['b=:NoSchedule']}}", ""},
	})
}

func TestMetadataOf(t *testing.T) {
	p := provisioning(t, "masters: [{m: {cpu: 1, labels: {a: b, zone: x}, taints: [{key: a, effect: NoSchedule}]}}]\n"+
		"workers: [{m: {labels: {c: d}, annotations: {e: f}}}]\nnodeSets: [{name: s, count: {active: 1}, labels: {g: h}}]")
	for _, test := range []struct {
		node, set string
		labels    int
		taints    int
	}{{"m", "", 3, 1}, {"s-1", "s", 1, 0}, {"s-1", "other", 0, 0}, {"x", "", 0, 0}} {
		got := p.Spec.MetadataOf(test.node, test.set)
		if len(got.Labels) != test.labels || len(got.Taints) != test.taints {
			t.Errorf("%s of set %q: %+v", test.node, test.set, got)
		}
	}
	slots, err := p.Spec.Slots()
	if err != nil || len(slots[0].Labels) != 3 || slots[0].Annotations["e"] != "f" || slots[0].Taints[0] != (v1alpha1.NodeTaint{Key: "a", Effect: "NoSchedule"}) {
		t.Errorf("slots %+v %v", slots, err)
	}
}
