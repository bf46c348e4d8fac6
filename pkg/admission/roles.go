package admission

import (
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

const rolesAdvice = "restore the role; to use the host in another role, remove the node, wait until its host is released (kubectl bpa hosts), and then add it again"

// checkRoles refuses other roles for installed nodes. If a spec has no workers, its control plane
// nodes are also workers. They keep this role when the first worker is added.
func (e *edit) checkRoles() {
	var turn bool // a control plane node would have to become a worker, because no other worker is left
	for _, n := range e.after {
		if before := find(e.before, n.name); before != nil {
			turn = e.checkRole(*before, n) || turn
		}
	}
	for i, set := range e.is.NodeSets {
		at := slices.IndexFunc(e.was.NodeSets, func(s v1alpha1.NodeSet) bool { return s.Name == set.Name && s.Count.Active > 0 })
		if at >= 0 {
			turn = e.checkSetRole(e.was.NodeSets[at], set, fmt.Sprintf("nodeSets[%d].role", i)) || turn
		}
	}
	if turn {
		e.refuse("workers", "keep at least one worker: a control plane node cannot become a worker later",
			"the installed cluster would have no worker, because its control plane nodes are not workers")
	}
}

// checkRole compares the roles of a node with a name. It reports whether the node would have to
// become a worker because the spec has none.
func (e *edit) checkRole(was, is namedNode) (turn bool) {
	switch worked := e.worked(is.name, "", was.worker || !e.was.HasWorkers()); {
	case was.controlPlane && !is.controlPlane:
		e.refuseFixed(is.path, rolesAdvice, "node %q is a control plane node of the installed cluster, and cannot become a worker only", is.name)
	case !was.controlPlane && is.controlPlane:
		e.refuseFixed(is.path, rolesAdvice, "node %q is a worker of the installed cluster, and cannot become a control plane node", is.name)
	case !is.controlPlane:
	case is.worker && !worked:
		e.refuse(is.path, rolesAdvice, "node %q is a control plane node of the installed cluster, and cannot become a worker too", is.name)
	case was.worker && worked && !is.worker && e.is.HasWorkers():
		e.refuse(is.path, rolesAdvice, "node %q is also a worker of the installed cluster, and cannot stop being one", is.name)
	default:
		return !worked && !e.is.HasWorkers()
	}
	return false
}

// checkSetRole is like checkRole, for the nodes of a set.
func (e *edit) checkSetRole(was, is v1alpha1.NodeSet, path string) (turn bool) {
	wasWorker, isWorker := was.Role == v1alpha1.RoleControlPlaneWorker, is.Role == v1alpha1.RoleControlPlaneWorker
	switch worked := e.worked("", is.Name, wasWorker || !e.was.HasWorkers()); {
	case was.Role.ControlPlane() != is.Role.ControlPlane(), isWorker && !worked, wasWorker && worked && !isWorker && e.is.HasWorkers():
		refuse := e.refuse
		if was.Role.ControlPlane() != is.Role.ControlPlane() {
			refuse = e.refuseFixed
		}
		refuse(path, "restore the role; to have nodes with another role, add another node set, and then remove this one or reduce its count.active",
			"the nodes of set %q are installed with role %s, and cannot change to %s", is.Name, was.Role, is.Role)
	case is.Role == v1alpha1.RoleControlPlane:
		return !worked && !e.is.HasWorkers()
	}
	return false
}

// worked reports whether a control plane node of this name, or of this set, is installed as a worker
// too. The status knows this: if the cluster was installed without workers, the spec does not show it
// any more after workers were added. otherwise is the result if the status does not have the node.
func (e *edit) worked(name, set string, otherwise bool) bool {
	for _, n := range e.status {
		if n.NodeSet == set && (set != "" || n.Name == name) && n.State != v1alpha1.NodeStandby {
			return slices.Contains(n.Roles, string(v1alpha1.RoleWorker))
		}
	}
	return otherwise
}

// checkControlPlane refuses an update after which no installed control plane node is left. New ones
// join the cluster through an old one. A spec without any is refused by another check.
func (e *edit) checkControlPlane() {
	if e.was.ControlPlaneNodes() == 0 || e.is.ControlPlaneNodes() == 0 {
		return
	}
	for _, n := range e.before {
		after := find(e.after, n.name)
		if n.controlPlane && after != nil && (after.mac == "" || n.mac == "" || after.mac == n.mac) {
			return
		}
	}
	for _, set := range e.is.NodeSets {
		stays := func(s v1alpha1.NodeSet) bool {
			return s.Name == set.Name && s.Role.ControlPlane() && s.Count.Active > 0
		}
		if set.Count.Active > 0 && slices.ContainsFunc(e.was.NodeSets, stays) {
			return
		}
	}
	if e.restoresControlPlane() {
		return
	}
	e.refuse("masters", "keep one of them on its host until the new ones are Ready, and then remove it", "none of the installed control plane nodes would be left")
}

// restoresControlPlane reports whether the update requests an installed control plane node that the
// stored spec does not have any more.
func (e *edit) restoresControlPlane() bool {
	return slices.ContainsFunc(e.status, func(n v1alpha1.NodeStatus) bool {
		if !isInstalled(n) || !slices.Contains(n.Roles, string(v1alpha1.RoleControlPlane)) {
			return false
		}
		if n.NodeSet == "" {
			after := find(e.after, n.Name)
			return after != nil && after.controlPlane && find(e.before, n.Name) == nil
		}
		has := func(sets []v1alpha1.NodeSet) bool {
			return slices.ContainsFunc(sets, func(s v1alpha1.NodeSet) bool {
				return s.Name == n.NodeSet && s.Role.ControlPlane() && s.Count.Active > 0
			})
		}
		return has(e.is.NodeSets) && !has(e.was.NodeSets)
	})
}
