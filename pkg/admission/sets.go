package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

const (
	// mostNodes is the maximum number of nodes of a cluster. The schema cannot check it, because it
	// limits each list separately.
	mostNodes = 1000
	// mostSetName is the maximum length of a set's name. The name of a node consists of the set's
	// name, a dash and a number.
	mostSetName = validation.DNS1123LabelMaxLength - len("-1000")
)

var (
	roles = []v1alpha1.NodeRole{v1alpha1.RoleControlPlane, v1alpha1.RoleWorker, v1alpha1.RoleControlPlaneWorker}
	// numbered matches a name that a node of a set can have: the set's name, a dash and a number
	// from 1.
	numbered = regexp.MustCompile(`^(.+)-[1-9][0-9]*$`)
)

// validateSets checks each node set, the names that sets give to their nodes, and the numbers of
// nodes of the whole cluster.
func validateSets(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	names := map[string]int{}
	for i, set := range s.NodeSets {
		err := validateSet(&set)
		if first, ok := names[set.Name]; ok {
			err = err.Also(problem("name", "give every node set a unique name", "%q is already the name of spec.nodeSets[%d]", set.Name, first))
		} else {
			names[set.Name] = i
		}
		errs = errs.Also(err.ViaFieldIndex("nodeSets", i))
	}
	return errs.Also(validateNamesOfSets(s, names), validateNodeCount(s), validateControlPlane(s))
}

// validateNamesOfSets rejects masters and workers with a name that a node of a set has, or gets
// when the set grows. Nodes of two sets never have the same name, because the set's name ends at
// the last dash of the node's name.
func validateNamesOfSets(s *v1alpha1.ProvisioningSpec, sets map[string]int) (errs *apis.FieldError) {
	check := func(place, name string) {
		found := numbered.FindStringSubmatch(name)
		if found == nil {
			return
		}
		if set, ok := sets[found[1]]; ok {
			errs = errs.Also(problem(place, fmt.Sprintf("rename the node or the set: the nodes of the set are named %[1]s-1, %[1]s-2 and so on", found[1]),
				"node name %q is reserved for spec.nodeSets[%d]", name, set))
		}
	}
	for i, item := range s.Masters {
		for _, name := range slices.Sorted(maps.Keys(item)) {
			check(fmt.Sprintf("masters[%d]", i), name)
		}
	}
	for i, item := range s.Workers {
		for _, name := range slices.Sorted(maps.Keys(item)) {
			check(fmt.Sprintf("workers[%d]", i), name)
		}
	}
	return errs
}

func validateNodeCount(s *v1alpha1.ProvisioningSpec) *apis.FieldError {
	n, path := s.NodeCount(), "workers"
	if n <= mostNodes {
		return nil
	}
	if len(s.NodeSets) > 0 {
		path = "nodeSets"
	}
	return problem(path, fmt.Sprintf("request at most %d nodes in one cluster, including standby nodes", mostNodes), "%d nodes are too many", n)
}

// validateControlPlane requires at least one control plane node, and warns if their number is even.
func validateControlPlane(s *v1alpha1.ProvisioningSpec) *apis.FieldError {
	n := s.ControlPlaneNodes()
	switch {
	case n == 0 && len(s.NodeSets) > 0:
		return problem("masters", "add a master, or a node set with role control-plane and count.active of at least 1", "the cluster has no masters and no node set with control plane nodes")
	case n == 0:
		return problem("masters", `add a control plane node, such as "- master-1: {cpu: 4, memory: 8Gi}"`, "the cluster has no masters")
	case n%2 == 0 && n == len(s.Masters):
		return warning("masters", "%d masters tolerate no more failures than %d, because etcd needs a majority of them: add one or remove one", n, n-1)
	case n%2 == 0:
		return warning("nodeSets", "%d control plane nodes tolerate no more failures than %d, because etcd needs a majority of them: add one or remove one", n, n-1)
	}
	return nil
}

// validateSet checks one set. It does not compare the set with other sets or nodes.
func validateSet(s *v1alpha1.NodeSet) (errs *apis.FieldError) {
	switch {
	case !isLabel(s.Name):
		errs = problem("name", labelRule, "%q is not a DNS label", s.Name)
	case len(s.Name) > mostSetName:
		errs = problem("name", fmt.Sprintf("use at most %d characters: the names of the nodes add a number and have at most %d", mostSetName, validation.DNS1123LabelMaxLength),
			"a name of %d characters is too long", len(s.Name))
	}
	if s.Role != "" && !slices.Contains(roles, s.Role) {
		errs = errs.Also(problem("role", "use control-plane, worker, or control-plane-worker for both", "%q is not a role", s.Role))
	}
	return errs.Also(validateNodeCounts(s.Count), validateSpread(s), validateRequirements(&s.HostRequirements), validateNodeMetadata(&s.NodeMetadata), validateNodeVars(s.NodeVars))
}

func validateNodeCounts(c v1alpha1.NodeCount) (errs *apis.FieldError) {
	const advice = "write a number of nodes from 0 to 1000"
	if c.Active < 0 {
		errs = errs.Also(problem("count.active", advice, "%d is negative", c.Active))
	}
	if c.Standby < 0 {
		errs = errs.Also(problem("count.standby", advice, "%d is negative", c.Standby))
	}
	if c.Active == 0 && c.Standby == 0 {
		errs = errs.Also(problem("count", "write a number, such as count: {active: 3}, or remove the set", "the set has no nodes"))
	}
	return errs
}

func validateSpread(s *v1alpha1.NodeSet) (errs *apis.FieldError) {
	if s.MaxSkew < 0 {
		errs = errs.Also(problem("maxSkew", "write a number of at least 1; the default is 1", "%d is negative", s.MaxSkew))
	}
	switch s.WhenUnsatisfiable {
	case "", corev1.DoNotSchedule, corev1.ScheduleAnyway:
	default:
		errs = errs.Also(problem("whenUnsatisfiable", "use DoNotSchedule or ScheduleAnyway", "%q is not a valid value", s.WhenUnsatisfiable))
	}
	if s.TopologyKey == "" {
		const advice = "set topologyKey to the host label over which the nodes are spread, such as airshipit.org/rack, or leave this field out"
		if s.MaxSkew > 0 {
			errs = errs.Also(problem("maxSkew", advice, "maxSkew has no effect without topologyKey"))
		}
		if s.WhenUnsatisfiable != "" {
			errs = errs.Also(problem("whenUnsatisfiable", advice, "whenUnsatisfiable has no effect without topologyKey"))
		}
	} else if why := validation.IsQualifiedName(s.TopologyKey); len(why) > 0 {
		errs = errs.Also(problem("topologyKey", "write the name of a label, such as airshipit.org/rack", "%q is not a label name: %s", s.TopologyKey, strings.Join(why, "; ")))
	}
	return errs
}
