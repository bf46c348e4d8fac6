package admission

import (
	"fmt"
	"strings"
	"testing"
)

const (
	adviceRole   = "use control-plane, worker, or control-plane-worker for both"
	adviceCount  = "write a number of nodes from 0 to 1000"
	adviceSpread = "set topologyKey to the host label over which the nodes are spread, such as airshipit.org/rack, or leave this field out"
)

// set returns a cluster with one master and a node set with the given fields.
func set(text string) string { return one + "nodeSets: [{name: s, count: {active: 1}, " + text + "}]" }

func TestSetRules(t *testing.T) {
	long := strings.Repeat("a", 59)
	checkRules(t, []rule{
		{"no name", one + "nodeSets: [{name: '', count: {active: 1}}]", `"" is not a DNS label: spec.nodeSets[0].name` + "\n" + labelRule},
		{"name in upper case", one + "nodeSets: [{name: S, count: {active: 1}}]", `"S" is not a DNS label: spec.nodeSets[0].name` + "\n" + labelRule},
		{"no room for a number", one + "nodeSets: [{name: " + long + ", count: {active: 1}}]",
			"a name of 59 characters is too long: spec.nodeSets[0].name\nuse at most 58 characters: the names of the nodes add a number and have at most 63"},
		{"same name twice", one + "nodeSets: [{name: s, count: {active: 1}}, {name: s, count: {active: 2}}]",
			`"s" is already the name of spec.nodeSets[0]: spec.nodeSets[1].name` + "\ngive every node set a unique name"},
		{"role", set("role: master"), `"master" is not a role: spec.nodeSets[0].role` + "\n" + adviceRole},
		{"no nodes", one + "nodeSets: [{name: s, count: {active: 0}}]", "the set has no nodes: spec.nodeSets[0].count\nwrite a number, such as count: {active: 3}, or remove the set"},
		{"negative counts", one + "nodeSets: [{name: s, count: {active: -1, standby: -2}}]",
			"-1 is negative: spec.nodeSets[0].count.active\n" + adviceCount + "\n-2 is negative: spec.nodeSets[0].count.standby\n" + adviceCount},
		{"topology key", set("topologyKey: 'the rack'"), `"the rack" is not a label name: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with ` +
			`an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'): ` +
			"spec.nodeSets[0].topologyKey\nwrite the name of a label, such as airshipit.org/rack"},
		{"skew of nothing", set("maxSkew: 2"), "maxSkew has no effect without topologyKey: spec.nodeSets[0].maxSkew\n" + adviceSpread},
		{"negative skew", set("topologyKey: rack, maxSkew: -1"), "-1 is negative: spec.nodeSets[0].maxSkew\nwrite a number of at least 1; the default is 1"},
		{"what to do of nothing", set("whenUnsatisfiable: ScheduleAnyway"),
			"whenUnsatisfiable has no effect without topologyKey: spec.nodeSets[0].whenUnsatisfiable\n" + adviceSpread},
		{"what to do", set("topologyKey: rack, whenUnsatisfiable: Wait"),
			`"Wait" is not a valid value: spec.nodeSets[0].whenUnsatisfiable` + "\nuse DoNotSchedule or ScheduleAnyway"},
		{"requirements are those of any node", set("cpu: -1, disks: [{type: tape}]"),
			"\"tape\" is not a disk type: spec.nodeSets[0].disks[0].type\nuse one of HDD, SSD, NVME\n" +
				"-1 is negative: spec.nodeSets[0].cpu\nwrite the minimum number of CPU threads, such as 4, or leave it out"},
	})
}

func TestNamesOfSets(t *testing.T) {
	clash := func(name, set, place string) string {
		return fmt.Sprintf("node name %q is reserved for spec.nodeSets[0]: %s\nrename the node or the set: the nodes of the set are named %[3]s-1, %[3]s-2 and so on", name, place, set)
	}
	checkRules(t, []rule{
		{"a master has a node's name", "masters: [{a-3: {cpu: 1}}]\nnodeSets: [{name: a, count: {active: 1}}]", clash("a-3", "a", "spec.masters[0]")},
		{"a worker has, beyond the count", one + "workers: [{w: {cpu: 1}}, {a-1000: {cpu: 1}}]\nnodeSets: [{name: a, count: {active: 1}}]", clash("a-1000", "a", "spec.workers[1]")},
		{"sets never clash", one + "nodeSets: [{name: a, count: {active: 1}}, {name: a-1, count: {active: 1}}, {name: a-1-1, count: {active: 1}}]", ""},
		{"the set's own name", "masters: [{a: {cpu: 1}}]\nnodeSets: [{name: a, count: {active: 1}}]", ""},
		{"no number of a set", "masters: [{a-0: {cpu: 1}}]\nworkers: [{a-01: {cpu: 1}}, {a-1b: {cpu: 1}}, {b-1: {cpu: 1}}]\nnodeSets: [{name: a, count: {active: 1}}]", ""},
	})
}

func TestSizeRules(t *testing.T) {
	const calico = "kubernetes: {networkPlugin: calico}\n" // with another network plugin, the pod subnet would be too small for so many nodes
	checkRules(t, []rule{
		{"too many standbys", one + calico + "nodeSets: [{name: a, count: {active: 600}}, {name: b, count: {active: 300, standby: 100}}]",
			"1001 nodes are too many: spec.nodeSets\nrequest at most 1000 nodes in one cluster, including standby nodes"},
		{"as many as there may be", one + calico + "nodeSets: [{name: a, count: {active: 600}}, {name: b, count: {active: 300, standby: 99}}]", ""},
		{"too many by name", manyMasters(1001) + calico, "1001 nodes are too many: spec.workers\nrequest at most 1000 nodes in one cluster, including standby nodes"},
		{"sets need pods too", one + "nodeSets: [{name: a, count: {active: 63, standby: 1}}]",
			"10.233.64.0/18 has no room for 65 nodes with a /24 each: spec.PodSubnet\n" +
				"write a larger range, or give each node a smaller range with spec.kubespray.vars.kube_network_node_prefix"},
	})
}

func TestControlPlaneRules(t *testing.T) {
	const noControl = "the cluster has no masters and no node set with control plane nodes: spec.masters\n" +
		"add a master, or a node set with role control-plane and count.active of at least 1"
	checkRules(t, []rule{
		{"workers alone", "nodeSets: [{name: w, count: {active: 3}}]", noControl},
		{"standbys alone", "nodeSets: [{name: c, role: control-plane, count: {active: 0, standby: 3}}]", noControl},
		{"a set", "nodeSets: [{name: c, role: control-plane, count: {active: 3}}]", ""},
		{"a set of both", "nodeSets: [{name: c, role: control-plane-worker, count: {active: 1}}]", ""},
	})
}
