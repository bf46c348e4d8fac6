package admission

import "testing"

const (
	adviceMAC    = "write six pairs of hexadecimal digits, such as 00:c6:14:04:61:b2"
	adviceRead   = "copy the network card's address from the BareMetalHost or from the machine's label"
	adviceEmpty  = "write an address such as 00:c6:14:04:61:b2, or leave mac-address out and write requirements for the host (cpu, memory)"
	adviceMemory = "write a quantity such as 16Gi, or leave it out"
	adviceOne    = "a host can be only one node: choose a different host for each node; for a host in both roles, use the same name in masters and workers"
)

func TestNodeRules(t *testing.T) {
	checkRules(t, []rule{
		{"no masters", "workers: [{w: {cpu: 1}}]",
			"the cluster has no masters: spec.masters\nadd a control plane node, such as \"- master-1: {cpu: 4, memory: 8Gi}\""},
		{"empty item", "masters: [{}]",
			"the item is empty: spec.masters[0]\nwrite the node's name and its requirements, such as \"- node-1: {cpu: 4, memory: 8Gi}\""},
		{"two keys", "masters: [{b: {cpu: 1}, a: {cpu: 1}}]",
			"one item contains 2 nodes (\"a\", \"b\"): spec.masters[0]\nwrite each node as a separate list item: an item has one key, the node's name"},
		{"upper case name", "masters: [{Master-1: {cpu: 1}}]", `node name "Master-1" is not a DNS label: spec.masters[0]` + "\n" + labelRule},
		{"name with a dot", "masters: [{a.b: {cpu: 1}}]", `node name "a.b" is not a DNS label: spec.masters[0]` + "\n" + labelRule},
		{"name with a line break", "masters: [{\"a\\nb\": {cpu: 1}}]", `node name "a\nb" is not a DNS label: spec.masters[0]` + "\n" + labelRule},
		{"name with a space", "masters: [{m: {cpu: 1}}]\nworkers: [{'a b': {cpu: 1}}]", `node name "a b" is not a DNS label: spec.workers[0]` + "\n" + labelRule},
		{"name of a group", "masters: [{etcd: {cpu: 1}}]",
			`node name "etcd" is reserved in Ansible inventories: spec.masters[0]` + "\nchoose another name, such as etcd-1"},
		{"name of Ansible's own machine", "masters: [{m: {cpu: 1}}]\nworkers: [{localhost: {cpu: 1}}]",
			`node name "localhost" is reserved in Ansible inventories: spec.workers[0]` + "\nchoose another name, such as localhost-1"},
		{"same master twice", "masters: [{m: {cpu: 1}}, {k: {cpu: 1}}, {m: {cpu: 1}}]",
			`node name "m" is already used by spec.masters[0].m: spec.masters[2].m` + "\ngive every node a unique name"},
		{"same worker twice", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}, {w: {cpu: 1}}]",
			`node name "w" is already used by spec.workers[0].w: spec.workers[1].w` + "\ngive every node a unique name"},
		{"master says nothing", "masters: [{m: {}}]", `master "m" has no host requirements: spec.masters[0].m` + "\n" + nothingAdvice},
		{"master is null", "masters: [{m: null}]", `master "m" has no host requirements: spec.masters[0].m` + "\n" + nothingAdvice},
		{"worker says nothing", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {}}]",
			`worker "w" has no host requirements: spec.workers[0].w` + "\n" + nothingAdvice},
		{"both roles say nothing", "masters: [{m: {}}]\nworkers: [{m: {}}]",
			`master "m" has no host requirements: spec.masters[0].m` + "\n" + nothingAdvice},
	})
}

func TestMACRules(t *testing.T) {
	checkRules(t, []rule{
		{"empty", "masters: [{m: {mac-address: ''}}]", "the MAC address is empty: spec.masters[0].m.mac-address\n" + adviceEmpty},
		{"empty, with needs", "masters: [{m: {mac-address: '', cpu: 8}}]", "the MAC address is empty: spec.masters[0].m.mac-address\n" + adviceEmpty},
		{"empty, of a worker", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {mac-address: ''}}]",
			"the MAC address is empty: spec.workers[0].w.mac-address\n" + adviceEmpty},
		{"too short", "masters: [{m: {mac-address: '00:c6:14:04:61'}}]",
			`"00:c6:14:04:61" is not a MAC address: spec.masters[0].m.mac-address` + "\n" + adviceMAC},
		{"mixed notation", "masters: [{m: {mac-address: '00:c6-14:04:61:b2'}}]",
			`"00:c6-14:04:61:b2" is not a MAC address: spec.masters[0].m.mac-address` + "\n" + adviceMAC},
		{"more behind it", "masters: [{m: {mac-address: \"00:c6:14:04:61:b2\\nx: y\"}}]",
			`"00:c6:14:04:61:b2\nx: y" is not a MAC address: spec.masters[0].m.mac-address` + "\n" + adviceMAC},
		{"zeros", "masters: [{m: {mac-address: '00:00:00:00:00:00'}}]",
			`"00:00:00:00:00:00" is not the MAC address of a network card: spec.masters[0].m.mac-address` + "\n" + adviceRead},
		{"broadcast", "masters: [{m: {mac-address: 'ff:ff:ff:ff:ff:ff'}}]",
			`"ff:ff:ff:ff:ff:ff" is not the MAC address of a network card: spec.masters[0].m.mac-address` + "\n" + adviceRead},
		{"two masters, other case", "masters: [{m: {mac-address: '00:c6:14:04:61:b2'}}, {k: {mac-address: 00-C6-14-04-61-B2}}, {o: {cpu: 1}}]",
			"MAC address 00:c6:14:04:61:b2 is already used by spec.masters[0].m: spec.masters[1].k.mac-address\n" + adviceOne},
		{"master and worker with other names", "masters: [{m: {mac-address: '00:c6:14:04:61:b2'}}]\nworkers: [{w: {mac-address: '00:c6:14:04:61:b2'}}]",
			"MAC address 00:c6:14:04:61:b2 is already used by spec.masters[0].m: spec.workers[0].w.mac-address\n" + adviceOne},
		{"master again, other address", "masters: [{m: {mac-address: '00:c6:14:04:61:b2'}}]\nworkers: [{m: {mac-address: '00:c6:14:04:61:b4'}}]",
			"MAC address 00:c6:14:04:61:b4 differs from that of spec.masters[0].m (00:c6:14:04:61:b2): spec.workers[0].m.mac-address\n" +
				"a worker and a master with the same name are one host: set the same MAC address in both, remove mac-address from the worker, or rename the worker"},
	})
}

func TestResourceRules(t *testing.T) {
	checkRules(t, []rule{
		{"negative cpu", "masters: [{m: {cpu: -1}}]",
			"-1 is negative: spec.masters[0].m.cpu\nwrite the minimum number of CPU threads, such as 4, or leave it out"},
		{"memory is a word", "masters: [{m: {memory: lots}}]", `"lots" is not a quantity: spec.masters[0].m.memory` + "\n" + adviceMemory},
		{"memory in GB", "masters: [{m: {memory: 16GB}}]", `"16GB" is not a quantity: spec.masters[0].m.memory` + "\n" + adviceMemory},
		{"negative memory", "masters: [{m: {memory: -1Gi}}]", `"-1Gi" is negative: spec.masters[0].m.memory` + "\n" + adviceMemory},
		{"no memory", "masters: [{m: {memory: '0'}}]", `"0" is less than 1Mi: is a unit missing?: spec.masters[0].m.memory` + "\n" + adviceMemory},
		{"unit missing", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {memory: '16'}}]",
			`"16" is less than 1Mi: is a unit missing?: spec.workers[0].w.memory` + "\n" + adviceMemory},
	})
}
