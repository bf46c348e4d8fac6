package change

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// level is the Kubernetes version of a node, and its result of Request.Settings. begun is the version to
// which a run has begun to change the node; empty: the node is not half changed. A node that is half
// changed has no level that a request could have, so it is upgraded in any case.
type level struct{ version, settings, begun string }

func (l level) String() string { return l.version }

func (s State) level(n contract.Node) level {
	version, settings := s.Installed.Level(n)
	l := level{version: version, settings: settings}
	if n.Target != nil {
		l.begun = cmp.Or(n.Target.Version, version)
	}
	return l
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

// levelOf returns the level of the request of an operation that upgrades nothing.
func (s State) levelOf(operation string) level {
	switch {
	case contract.OperationOf(operation).Has(contract.TaskSelectHosts):
		return s.joins(operation)
	case s.mixed() || len(s.Installed.Nodes) == 0:
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
		return cmp.Or(upgrade.Compare(x.version, y.version), oneIf(x.settings == s.Wanted.Settings())-oneIf(y.settings == s.Wanted.Settings()))
	}))
}

func (s State) installedLevel() level {
	r := s.Installed.Request
	return level{version: r.KubernetesVersion, settings: r.Settings()}
}

// at returns the request with this level. The variables of a level are known if they are those of the
// record or of the spec. Otherwise, the spec was edited twice during an upgrade, and a new node gets the
// variables of the record; the upgrade then gives it the requested ones.
func (s State) at(r contract.Request, l level) contract.Request {
	was := s.Installed.Request
	r.KubernetesVersion, r.Vars, r.Release = l.version, was.Vars, was.Release
	if l.settings == s.Wanted.Settings() && l.settings != was.Settings() {
		r.Vars, r.Release = s.Wanted.Vars, s.Wanted.Release
	}
	if upgrade.SameRelease(r.Release, s.Wanted.Release) { // other Tasks of the same release
		r.Release = s.Wanted.Release
	}
	return r
}

// mixed reports whether the nodes have different versions or variables, or one is half changed.
func (s State) mixed() bool {
	return slices.ContainsFunc(s.Installed.Nodes, func(n contract.Node) bool { return halfChanged(n) || s.level(n) != s.level(s.Installed.Nodes[0]) })
}

// halfChanged reports whether a run has begun to change the node, and has not completed this.
func halfChanged(n contract.Node) bool { return n.Target != nil }
