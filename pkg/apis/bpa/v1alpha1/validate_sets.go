package v1alpha1

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"
)

const (
	// mostNodes is how large a cluster may be; the schema bounds each list by itself.
	mostNodes = 1000
	// mostSetName leaves room for a dash and a number in the name of a node.
	mostSetName = validation.DNS1123LabelMaxLength - len("-1000")
)

var (
	roles = []NodeRole{RoleControlPlane, RoleWorker, RoleControlPlaneWorker}
	// numbered are the names that a node set can give: the set's name and a number from 1.
	numbered = regexp.MustCompile(`^(.+)-[1-9][0-9]*$`)
)

// validateSets looks at the node sets, and at what they and the nodes with names are together.
func (s *ProvisioningSpec) validateSets() (errs *apis.FieldError) {
	names := map[string]int{}
	for i, set := range s.NodeSets {
		err := set.validate()
		if first, ok := names[set.Name]; ok {
			err = err.Also(problem("name", "give every node set a name of its own", "%q is already the name of spec.nodeSets[%d]", set.Name, first))
		} else {
			names[set.Name] = i
		}
		errs = errs.Also(err.ViaFieldIndex("nodeSets", i))
	}
	return errs.Also(s.validateNamesOfSets(names), s.validateSize(), s.validateControlPlane())
}

// validateNamesOfSets refuses a node's name that a set could give, now or when it grows. Two sets never give the same: of what a set adds
// the last dash is the first character.
func (s *ProvisioningSpec) validateNamesOfSets(sets map[string]int) (errs *apis.FieldError) {
	check := func(place, name string) {
		found := numbered.FindStringSubmatch(name)
		if found == nil {
			return
		}
		if set, ok := sets[found[1]]; ok {
			errs = errs.Also(problem(place, fmt.Sprintf("call the node or the set something else: nodes of the set are %[1]s-1, %[1]s-2 and so on", found[1]),
				"node name %q is one that spec.nodeSets[%d] gives", name, set))
		}
	}
	for i, item := range s.Masters {
		for _, name := range sortedKeys(item) {
			check(fmt.Sprintf("masters[%d]", i), name)
		}
	}
	for i, item := range s.Workers {
		for _, name := range sortedKeys(item) {
			check(fmt.Sprintf("workers[%d]", i), name)
		}
	}
	return errs
}

func (s *ProvisioningSpec) validateSize() *apis.FieldError {
	n, path := s.nodeCount(), "workers"
	if n <= mostNodes {
		return nil
	}
	if len(s.NodeSets) > 0 {
		path = "nodeSets"
	}
	return problem(path, fmt.Sprintf("ask for at most %d in one cluster, standby nodes counted", mostNodes), "%d nodes are too many", n)
}

// validateControlPlane wants one, best of an odd number of nodes.
func (s *ProvisioningSpec) validateControlPlane() *apis.FieldError {
	n := s.controlPlaneNodes()
	switch {
	case n == 0 && len(s.NodeSets) > 0:
		return problem("masters", "add a master, or a node set with role control-plane and count.active of at least 1", "no masters, and no node set that has control plane nodes")
	case n == 0:
		return problem("masters", `add a control plane node, such as "- master-1: {cpu: 4, memory: 8Gi}"`, "no masters")
	case n%2 == 0 && n == len(s.Masters):
		return warning("masters", "%d masters survive no more failures than %d would, since etcd wants an odd number: add one or remove one", n, n-1)
	case n%2 == 0:
		return warning("nodeSets", "%d control plane nodes survive no more failures than %d would, since etcd wants an odd number: add one or remove one", n, n-1)
	}
	return nil
}

// validate looks at one set by itself.
func (s *NodeSet) validate() (errs *apis.FieldError) {
	switch {
	case !isLabel(s.Name):
		errs = problem("name", labelRule, "%q is no DNS label", s.Name)
	case len(s.Name) > mostSetName:
		errs = problem("name", fmt.Sprintf("use at most %d: a node's name adds a number and has at most %d", mostSetName, validation.DNS1123LabelMaxLength),
			"%d characters are too many", len(s.Name))
	}
	if s.Role != "" && !slices.Contains(roles, s.Role) {
		errs = errs.Also(problem("role", "use control-plane, worker, or control-plane-worker for both", "%q is no role", s.Role))
	}
	return errs.Also(s.Count.validate(), s.validateSpread(), s.HostRequirements.validate())
}

func (c NodeCount) validate() (errs *apis.FieldError) {
	const advice = "write how many nodes there are to be, from 0 to 1000"
	if c.Active < 0 {
		errs = errs.Also(problem("count.active", advice, "%d is negative", c.Active))
	}
	if c.Standby < 0 {
		errs = errs.Also(problem("count.standby", advice, "%d is negative", c.Standby))
	}
	if c.Active == 0 && c.Standby == 0 {
		errs = errs.Also(problem("count", "say how many, such as count: {active: 3}, or take the set out", "the set has no nodes"))
	}
	return errs
}

func (s *NodeSet) validateSpread() (errs *apis.FieldError) {
	if s.MaxSkew < 0 {
		errs = errs.Also(problem("maxSkew", "write a number from 1, or leave it out for 1", "%d is negative", s.MaxSkew))
	}
	switch s.WhenUnsatisfiable {
	case "", corev1.DoNotSchedule, corev1.ScheduleAnyway:
	default:
		errs = errs.Also(problem("whenUnsatisfiable", "use DoNotSchedule or ScheduleAnyway", "%q is not known", s.WhenUnsatisfiable))
	}
	if s.TopologyKey == "" {
		const advice = "name the hosts' label to spread the nodes over, such as airshipit.org/rack, or leave this out"
		if s.MaxSkew > 0 {
			errs = errs.Also(problem("maxSkew", advice, "maxSkew says nothing without a topologyKey"))
		}
		if s.WhenUnsatisfiable != "" {
			errs = errs.Also(problem("whenUnsatisfiable", advice, "whenUnsatisfiable says nothing without a topologyKey"))
		}
	} else if why := validation.IsQualifiedName(s.TopologyKey); len(why) > 0 {
		errs = errs.Also(problem("topologyKey", "write the name of a label, such as airshipit.org/rack", "%q is no label: %s", s.TopologyKey, strings.Join(why, "; ")))
	}
	return errs
}
