package change

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Refusal is a part of the spec that BPA does not apply to an installed cluster.
type Refusal struct {
	Field string // such as spec.PodSubnet
	Text  string // what differs, or why it is not applied
	// Advice is what a user can do instead of restoring the spec; empty: nothing.
	Advice string
	// Blocks reports that the cluster cannot have the requested value, so that no operation starts
	// until the spec is restored. Otherwise the cluster keeps its value, and other edits are
	// applied.
	Blocks bool
}

// Refused returns the parts of the spec that are not applied to the cluster, in a fixed order. The
// webhook refuses most of them; a spec can have them if it was stored before.
func Refused(s State) []Refusal {
	was, is := s.Installed.Request, s.Wanted.Spec
	var all []Refusal
	for _, f := range []struct {
		field, was, is string
	}{
		{"spec.PodSubnet", was.PodSubnet, is.PodSubnet},
		{"spec.kubernetes.serviceSubnet", was.ServiceSubnet, is.ServiceSubnet},
		{"spec.kubernetes.networkPlugin", was.NetworkPlugin, is.NetworkPlugin},
	} {
		if f.was != f.is {
			all = append(all, Refusal{Field: f.field, Text: fmt.Sprintf("%s: %s -> %s", f.field, text(f.was), text(f.is)), Blocks: true})
		}
	}
	if !reflect.DeepEqual(was.Access, is.Access) && !(len(was.Access.Subnets)+len(is.Access.Subnets) == 0 && was.Access.Interface == is.Access.Interface) {
		all = append(all, Refusal{Field: "spec.access", Text: "spec.access selects other addresses", Blocks: true})
	}
	if !reflect.DeepEqual(was.API, is.API) {
		all = append(all, Refusal{Field: "spec.kubernetes.api", Text: fmt.Sprintf("spec.kubernetes.api: %s -> %s", address(was.API), address(is.API)), Blocks: true})
	}
	return slices.Concat(all, s.refusedUpgrade(), s.changedRoles(), s.stuck())
}

// address describes an address of the API servers.
func address(api *contract.API) string {
	if api == nil {
		return text("")
	}
	return strings.TrimSuffix(text(api.URL())+" "+strings.Join(api.Names, ","), " ")
}

func text(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// SecretVars returns the names of the variables, sorted, that have another value in a Secret, or are in one only before
// or after the change.
func SecretVars(was, is contract.Spec) (changed []string) {
	for _, name := range changedVars(was, is) {
		if was.SecretVars[name] != is.SecretVars[name] {
			changed = append(changed, name)
		}
	}
	return changed
}

func changedVars(was, is contract.Spec) []string { return changedNames(was.AllVars(), is.AllVars()) }

// changedNames returns the names, sorted, of the variables that differ.
func changedNames(before, after map[string]json.RawMessage) []string {
	changed := map[string]bool{}
	for name, value := range before {
		if !sameJSON(after[name], value) {
			changed[name] = true
		}
	}
	for name := range after {
		if _, had := before[name]; !had {
			changed[name] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// sameJSON compares JSON without regard to spaces and to the order of keys. They differ between the
// spec and the stored request.
func sameJSON(a, b json.RawMessage) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(one, other)
}

// changedRoles returns the nodes and the node sets that would become control planes or stop being
// ones. The other role may differ (see State.kept), because it can be implied by other nodes of the
// spec. The webhook refuses the edits that would take away the last worker.
func (s State) changedRoles() []Refusal {
	var all []Refusal
	for _, slot := range s.Wanted.Slots {
		if i := s.index(slot.Name); i >= 0 && controlPlane(s.Installed.Nodes[i].Roles) != controlPlane(slot.Roles) {
			all = append(all, Refusal{Field: "spec." + slot.Name, Text: fmt.Sprintf("the role of node %s", slot.Name), Blocks: true})
		}
	}
	for _, set := range s.Wanted.Sets {
		if s.active(set.Name) > 0 && controlPlane(s.setRoles(set.Name)) != controlPlane(set.Roles) {
			all = append(all, Refusal{Field: "spec.nodeSets", Text: fmt.Sprintf("the role of node set %s", set.Name), Blocks: true})
		}
	}
	return all
}
