package change

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// class compares the variables of nodes, which can have different ones: requested, recorded, or any other result of
// SettingsOf. A node that no edit concerns is at requested.
type class string

const (
	requested class = "requested" // the node has what the spec requests for it
	recorded  class = "recorded"  // it has what the record says for it, which is not what the spec requests
)

// classOf returns the class of the variables of an installed node.
func (s State) classOf(n contract.Node) class {
	_, settings := s.Installed.Level(n)
	switch settings {
	case s.Wanted.SettingsWith(s.wantedVars(n)):
		return requested
	case s.Installed.Request.SettingsOf(n):
		return recorded
	}
	return class(settings)
}

// wantedVars returns the node's own variables after an upgrade. A node that is to leave keeps those that it has.
func (s State) wantedVars(n contract.Node) map[string]json.RawMessage {
	if s.requested(n) {
		return s.Wanted.VarsOf(n)
	}
	return s.Installed.Request.VarsOf(n)
}

// asRecorded reports whether every node has the version and the variables of the record, so that no upgrade has begun.
func (s State) asRecorded() bool {
	for _, n := range s.Installed.Nodes {
		if level, _ := s.Installed.Lacks(n, contract.Request{Spec: s.Installed.Request}); level {
			return false
		}
	}
	return true
}

// giveVars gives the nodes and the node sets of a request their own variables: those of the spec if c is requested, or
// else those of the record. Those that only one of them has get them from this one. No run gives nodes variables that
// the spec must not change.
func (s State) giveVars(r *contract.Request, c class) {
	first, other := s.Installed.Request, s.Wanted.Spec
	if c == requested && len(s.refusedOwnVars()) == 0 {
		first, other = other, first
	}
	slots, sets := map[string]contract.Slot{}, map[string]contract.Set{}
	for _, of := range []contract.Spec{other, first} {
		for _, slot := range of.Slots {
			slots[slot.Name] = slot
		}
		for _, set := range of.Sets {
			sets[set.Name] = set
		}
	}
	for i := range r.Slots {
		r.Slots[i].Vars = slots[r.Slots[i].Name].Vars
	}
	for i := range r.Sets {
		r.Sets[i].Vars = sets[r.Sets[i].Name].Vars
	}
}

// ownVar is a variable that a node or a node set has, or had, for itself.
type ownVar struct{ field, name string }

// changedOwnVars returns the variables of single nodes and node sets that differ from those of the record. Nodes and
// sets that the record does not have are new: nothing of theirs changes.
func (s State) changedOwnVars() (changed []ownVar) {
	add := func(field string, was, is map[string]json.RawMessage) {
		for _, name := range changedNames(was, is) {
			changed = append(changed, ownVar{field + ".vars." + name, name})
		}
	}
	was := s.Installed.Request
	for i, set := range s.Wanted.Sets {
		for _, before := range was.Sets {
			if before.Name == set.Name && s.active(set.Name) > 0 {
				add(fmt.Sprintf("spec.nodeSets[%d]", i), before.Vars, set.Vars)
			}
		}
	}
	before := map[string]contract.Slot{}
	for _, slot := range was.Slots {
		before[slot.Name] = slot
	}
	for _, slot := range s.Wanted.Slots {
		if old, had := before[slot.Name]; had {
			add("spec."+slot.Name, old.Vars, slot.Vars)
		}
	}
	return changed
}

// NodeVars returns the fields with variables of single nodes and node sets that an upgrade changes, such as
// spec.nodeSets[0].vars.kubelet_max_pods.
func NodeVars(s State) (fields []string) {
	for _, v := range s.changedOwnVars() {
		fields = append(fields, v.field)
	}
	return fields
}

// refusedOwnVars returns those of them that cannot change in a running cluster.
func (s State) refusedOwnVars() (refused []Refusal) {
	for _, v := range s.changedOwnVars() {
		if problem := upgrade.Variable(v.name); problem != nil {
			refused = append(refused, Refusal{Field: v.field, Text: v.field + ": " + problem.Text, Advice: problem.Advice})
		}
	}
	return refused
}

// withOwnVars returns all variables of a cluster with those of its nodes and sets, whose names have the node or the set.
func withOwnVars(s contract.Spec) map[string]json.RawMessage {
	all := maps.Clone(s.AllVars())
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for _, slot := range s.Slots {
		for name, value := range slot.Vars {
			all[name+" of node "+slot.Name] = value
		}
	}
	for _, set := range s.Sets {
		for name, value := range set.Vars {
			all[name+" of set "+set.Name] = value
		}
	}
	return all
}
