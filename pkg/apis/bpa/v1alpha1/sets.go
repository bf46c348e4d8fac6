package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ControlPlane reports whether nodes of the role run the control plane.
func (r NodeRole) ControlPlane() bool { return r == RoleControlPlane || r == RoleControlPlaneWorker }

// Worker reports whether nodes of the role run pods of the cluster's users. An empty role means
// worker.
func (r NodeRole) Worker() bool { return r == "" || r == RoleWorker || r == RoleControlPlaneWorker }

// Sets returns the node sets in the order of the spec, with the effective role of their nodes. If
// the cluster has no workers, every control plane node is also a worker.
func (s *ProvisioningSpec) Sets() []NodeSet {
	sets := slices.Clone(s.NodeSets)
	for i := range sets {
		orDefault(&sets[i].Role, RoleWorker)
		if sets[i].Role == RoleControlPlane && !s.HasWorkers() {
			sets[i].Role = RoleControlPlaneWorker
		}
	}
	return sets
}

// HasWorkers reports whether the spec names a worker or a node set has active workers. Standby
// nodes do not count.
func (s *ProvisioningSpec) HasWorkers() bool {
	return len(s.Workers) > 0 || slices.ContainsFunc(s.NodeSets, func(set NodeSet) bool { return set.Role.Worker() && set.Count.Active > 0 })
}

// ControlPlaneNodes returns the number of nodes that run the control plane and etcd.
func (s *ProvisioningSpec) ControlPlaneNodes() int {
	n := len(s.Masters)
	for _, set := range s.NodeSets {
		if set.Role.ControlPlane() {
			n += int(max(set.Count.Active, 0))
		}
	}
	return n
}

// NodeCount returns the maximum number of nodes of the cluster, including standby nodes.
func (s *ProvisioningSpec) NodeCount() int {
	names := map[string]bool{}
	for _, item := range s.Masters {
		for name := range item {
			names[name] = true
		}
	}
	for _, item := range s.Workers {
		for name := range item {
			names[name] = true
		}
	}
	n := len(names)
	for _, set := range s.NodeSets {
		n += int(max(set.Count.Active, 0)) + int(max(set.Count.Standby, 0))
	}
	return n
}

func (s *NodeSet) setDefaults() {
	orDefault(&s.Role, RoleWorker)
	if s.TopologyKey != "" {
		orDefault(&s.MaxSkew, 1)
		orDefault(&s.WhenUnsatisfiable, corev1.DoNotSchedule)
	}
	s.HostRequirements.setDefaults()
}
