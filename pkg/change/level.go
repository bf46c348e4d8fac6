package change

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// level is the Kubernetes version of a node, and the class of its variables. begun is the version to
// which a run has begun to change the node; empty: no playbook has left it half changed. A node that is
// half changed has no level that a request could have, so it is upgraded in any case.
type level struct {
	version, begun string
	settings       class
	patch          patchState
}

// patchState is the state of a node's operating system.
type patchState string

const (
	patched   patchState = ""          // it has the requested patch level, or none is requested
	unpatched patchState = "unpatched" // it is to be patched
	patching  patchState = "patching"  // a run has begun to patch it
)

func (l level) String() string { return l.version }

func (s State) level(n contract.Node) level {
	version, _ := s.Installed.Level(n)
	l := level{version: version, settings: s.classOf(n)}
	if n.Target != nil {
		l.begun = n.Target.Version
	}
	switch {
	case halfPatched(n):
		l.patch = patching
	case s.Wanted.Patched != "" && s.Installed.PatchOf(n) != s.Wanted.Patched:
		l.patch = unpatched
	}
	return l
}

// patch returns the patch level that these nodes are to get; empty: none is to be patched. If the request
// was taken back while a node was being patched, the patch of this node is completed, because it may have
// packages that are not configured. The nodes that were not touched then stay as they are.
func (s State) patch(nodes []contract.Node) string {
	if s.Wanted.Patched != "" {
		return s.Wanted.Patched
	}
	if i := slices.IndexFunc(nodes, halfPatched); i >= 0 {
		return nodes[i].Target.Patch
	}
	return ""
}

// patches reports whether a node is to be patched.
func (s State) patches() bool {
	return slices.ContainsFunc(s.Installed.Nodes, func(n contract.Node) bool { return s.level(n).patch != patched })
}

// versions returns the oldest and the newest version of a node. A version to which a run has begun to
// change a node counts as newest: an API server may have stored objects with it.
func (s State) versions() (oldest, newest string) {
	var all []string
	for _, n := range s.Installed.Nodes {
		all = append(all, s.level(n).version)
	}
	oldest = slices.MinFunc(all, upgrade.Compare)
	for _, n := range s.Installed.Nodes {
		all = append(all, s.level(n).begun) // no version is older than all versions
	}
	return oldest, slices.MaxFunc(all, upgrade.Compare)
}

// levelOf returns the level of the request of an operation that upgrades nothing. A removal has the level of a node
// that joins: the nodes without it may be the ones that leave, and then no later run would store it in the record.
func (s State) levelOf(operation string) level {
	switch o := contract.OperationOf(operation); {
	case o.Has(contract.TaskSelectHosts), o.Pipeline == contract.PipelineRemove:
		return s.joins(operation)
	case s.mixed() || s.asRecorded():
		return s.installedLevel()
	}
	return s.level(s.Installed.Nodes[0])
}

// joins returns the level that a new node gets. A worker gets that of the oldest control plane node,
// because a kubelet must not be newer than an API server; a lost one counts, because it can come back. A
// control plane node gets what the first living one has, because kubeadm has stored that version in the
// cluster.
func (s State) joins(operation string) level {
	var planes, living []contract.Node
	for _, n := range s.Installed.Nodes {
		if controlPlane(n.Roles) {
			planes = append(planes, n)
		}
	}
	living = slices.DeleteFunc(slices.Clone(planes), s.lost)
	switch {
	case len(living) == 0:
		return s.installedLevel()
	case operation == contract.OperationAddControlPlane:
		return s.level(living[0])
	}
	return s.level(slices.MinFunc(planes, func(a, b contract.Node) int {
		x, y := s.level(a), s.level(b)
		return cmp.Or(upgrade.Compare(x.version, y.version), oneIf(x.settings == requested)-oneIf(y.settings == requested))
	}))
}

func (s State) installedLevel() level {
	return level{version: s.Installed.Request.KubernetesVersion, settings: recorded}
}

// at returns the request with this level. The variables of a level are known if they are those of the
// record or of the spec. Otherwise, the spec was edited twice during an upgrade, and a new node gets the
// variables of the record; the upgrade then gives it the requested ones. Variables in Secrets have always the
// requested values, because there is no other value of them. giveVars does the same for the variables of nodes.
func (s State) at(r contract.Request, l level) contract.Request {
	was := s.Installed.Request
	r.KubernetesVersion, r.Vars, r.Release = l.version, was.Vars, was.Release
	if l.settings == requested && s.Wanted.Settings() != was.Settings() {
		r.Vars, r.Release = s.Wanted.Vars, s.Wanted.Release
	}
	if upgrade.SameRelease(r.Release, s.Wanted.Release) { // other Tasks of the same release
		r.Release = s.Wanted.Release
	}
	return r
}

// mixed reports whether the nodes have different versions or variables, or a playbook has left one half
// changed. Patch levels do not count: they are no part of a request's inventory.
func (s State) mixed() bool {
	if s.asRecorded() {
		return false
	}
	first := s.level(s.Installed.Nodes[0])
	return slices.ContainsFunc(s.Installed.Nodes, func(n contract.Node) bool {
		l := s.level(n)
		return l.begun != "" || l.version != first.version || l.settings != first.settings
	})
}

// halfChanged reports whether a run has begun to change the node, and has not completed this.
func halfChanged(n contract.Node) bool { return n.Target != nil }

// halfPatched reports whether a run has begun to patch the node, and has not completed this.
func halfPatched(n contract.Node) bool { return n.Target != nil && n.Target.Patch != "" }

// onlyHalfPatched reports whether a patch is all that a run has begun and not completed on the node.
func onlyHalfPatched(n contract.Node) bool { return halfPatched(n) && n.Target.Version == "" }
