package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// takenNames are strings that must not be node names, because they have another meaning in
// inventories of Ansible or kubespray: they name groups, or the machine on which Ansible runs.
var takenNames = []string{"all", "etcd", "localhost", "ungrouped"}

// demand is a Master or a Worker as the user wrote it, with its path in the spec.
type demand struct {
	path            string // such as masters[0].master-1
	name            string
	worker          bool
	v1alpha1.Worker // has all fields of a Master
}

// nodeRules checks all masters, then all workers, and collects their names and MAC addresses.
type nodeRules struct {
	errs    *apis.FieldError
	masters map[string]demand
	workers map[string]demand
	macs    map[v1alpha1.MAC]demand
}

func validateNodes(s *v1alpha1.ProvisioningSpec) *apis.FieldError {
	r := &nodeRules{masters: map[string]demand{}, workers: map[string]demand{}, macs: map[v1alpha1.MAC]demand{}}
	for i, item := range s.Masters {
		place := fmt.Sprintf("masters[%d]", i)
		if name, ok := oneKey(r, place, item); ok {
			m := item[name]
			r.add(demand{place + "." + name, name, false, v1alpha1.Worker(m)})
		}
	}
	for i, item := range s.Workers {
		place := fmt.Sprintf("workers[%d]", i)
		if name, ok := oneKey(r, place, item); ok {
			r.add(demand{place + "." + name, name, true, item[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.masters)) {
		r.emptyMaster(r.masters[name])
	}
	return r.errs
}

// oneKey returns the only key of an item, which is the node's name.
func oneKey[N any](r *nodeRules, place string, item map[string]N) (string, bool) {
	names := slices.Sorted(maps.Keys(item))
	switch {
	case len(names) == 0:
		r.problem(place, `write the node's name and its requirements, such as "- node-1: {cpu: 4, memory: 8Gi}"`, "the item is empty")
	case len(names) > 1:
		r.problem(place, "write each node as a separate list item: an item has one key, the node's name", "one item contains %d nodes (%s)", len(names), quoted(names))
	case !isLabel(names[0]):
		r.problem(place, labelRule, "node name %q is not a DNS label", names[0])
	case slices.Contains(takenNames, names[0]):
		r.problem(place, "choose another name, such as "+names[0]+"-1", "node name %q is reserved in Ansible inventories", names[0])
	default:
		return names[0], true
	}
	return "", false
}

func (r *nodeRules) add(w demand) {
	r.name(w)
	mac, ok := r.mac(w)
	if ok && mac != "" {
		r.taken(w, mac)
	}
	r.errs = r.errs.Also(validateRequirements(&w.Worker.HostRequirements).ViaField(w.path), validateNodeMetadata(&w.Worker.NodeMetadata).ViaField(w.path),
		validateNodeVars(w.Worker.NodeVars).ViaField(w.path))
	r.together(w)
	if w.worker && w.saysNothing() && w.MACAddress == nil && !r.isMaster(w) {
		r.problem(w.path, nothingAdvice, "worker %q has no host requirements", w.name)
	}
	if w.worker {
		r.workers[w.name] = w
	} else {
		r.masters[w.name] = w
	}
}

const nothingAdvice = "set mac-address to pin the node to a host, or set cpu, memory or a selector so that BPA can choose a host"

// emptyMaster reports an error if neither the master nor the worker of the same name has
// requirements. It ignores a master with an empty MAC address, for which another check reports an
// error.
func (r *nodeRules) emptyMaster(m demand) {
	if w, ok := r.workers[m.name]; m.MACAddress == nil && m.saysNothing() && (!ok || w.saysNothing()) {
		r.problem(m.path, nothingAdvice, "master %q has no host requirements", m.name)
	}
}

func (w demand) saysNothing() bool {
	pinned := w.MACAddress != nil && *w.MACAddress != ""
	return !pinned && w.IsNothing()
}

func (r *nodeRules) isMaster(w demand) bool {
	_, ok := r.masters[w.name]
	return ok
}

func (r *nodeRules) name(w demand) {
	seen := r.masters
	if w.worker {
		seen = r.workers
	}
	if first, ok := seen[w.name]; ok {
		r.problem(w.path, "give every node a unique name", "node name %q is already used by spec.%s", w.name, first.path)
	}
}

// mac returns the canonical MAC address, or an empty one if the node has none. It reports an error
// for an empty mac-address, except in a worker with a master's name.
func (r *nodeRules) mac(w demand) (v1alpha1.MAC, bool) {
	if w.MACAddress == nil {
		return "", true
	}
	path := w.path + ".mac-address"
	if *w.MACAddress == "" {
		if !w.worker || !r.isMaster(w) {
			r.problem(path, "write an address such as 00:c6:14:04:61:b2, or leave mac-address out and write requirements for the host (cpu, memory)", "the MAC address is empty")
		}
		return "", true
	}
	mac, what, advice := v1alpha1.CheckMAC(string(*w.MACAddress))
	if what != "" {
		r.problem(path, advice, "%s", what)
	}
	return mac, what == ""
}

// taken reports an error if a MAC address is used for two nodes, or if a node in both roles has two
// MAC addresses.
func (r *nodeRules) taken(w demand, mac v1alpha1.MAC) {
	path := w.path + ".mac-address"
	if master, ok := r.masters[w.name]; ok && w.worker && master.MACAddress != nil {
		if other, err := v1alpha1.ParseMAC(string(*master.MACAddress)); err == nil && other != mac {
			r.problem(path, "a worker and a master with the same name are one host: set the same MAC address in both, remove mac-address from the worker, or rename the worker",
				"MAC address %s differs from that of spec.%s (%s)", mac, master.path, other)
		}
	}
	if first, ok := r.macs[mac]; !ok {
		r.macs[mac] = w
	} else if first.name != w.name || first.worker == w.worker {
		r.problem(path, "a host can be only one node: choose a different host for each node; for a host in both roles, use the same name in masters and workers",
			"MAC address %s is already used by spec.%s", mac, first.path)
	}
}

// together reports an error if the requirements of a worker contradict those of the master with the
// same name, because both are on one host.
func (r *nodeRules) together(w demand) {
	if m, ok := r.masters[w.name]; ok && w.worker {
		if field, mine, theirs, found := m.Contradiction(&w.HostRequirements); found {
			r.problem(w.path+"."+field, "a worker with a master's name is the same host: write it once, or give the worker another name",
				"%q contradicts spec.%s.%s (%q)", theirs, m.path, field, mine)
		}
		if field, mine, theirs := contradicts(m.NodeMetadata, w.NodeMetadata); field != "" {
			r.problem(w.path+"."+field, "a worker with a master's name is the same node: write it once", "%q contradicts spec.%s (%q)", theirs, m.path, mine)
		}
		if name, mine, theirs := otherVar(m.NodeVars, w.NodeVars); name != "" {
			r.problem(w.path+".vars."+name, "a worker with a master's name is the same node: write it once", "%s contradicts spec.%s (%s)", theirs, m.path, mine)
		}
	}
}

func (r *nodeRules) problem(path, advice, format string, args ...any) {
	r.errs = r.errs.Also(problem(path, advice, format, args...))
}

// quoted returns the names in quotes, separated by commas. Quotes escape line breaks and other
// control characters in a name.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}
