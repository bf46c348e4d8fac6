package change

import (
	"cmp"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// Rollout describes how an upgrade goes from node to node.
type Rollout struct {
	// MaxUnavailable is the number of workers that one run upgrades; less than 1 means 1.
	MaxUnavailable int
	// DrainSeconds limits the time in which the pods of a node must have left it.
	DrainSeconds int
	// DrainsSeconds is contract.Upgrade.DrainsSeconds.
	DrainsSeconds int
	// PauseAfterControlPlane keeps the workers from being upgraded, except those that are half changed.
	PauseAfterControlPlane bool
}

// ascent is the upgrade that the spec requests of an installed cluster. All nodes get one version
// before the first of them gets the next one.
type ascent struct {
	from string // the oldest version of a node
	// path has the versions that the cluster still gets. hop is what all nodes get first: the first
	// of these versions with the requested variables, and the requested patch. So one drain of a node is
	// enough for both.
	path []string
	hop  level
	// planes and workers are the nodes that do not have the hop yet, in the order of the record.
	// done is the number of the other nodes.
	planes, workers []contract.Node
	done            int
	// narrow is set if only variables change, and none of them needs a drain; nil: the nodes are upgraded.
	narrow *contract.Narrow
}

// ascent returns the requested upgrade; nil: the nodes have what the spec requests, or it is refused.
func (s State) ascent() *ascent {
	if s.haveAll(level{version: s.Wanted.KubernetesVersion, settings: requested}) || len(s.refusedUpgrade()) > 0 {
		return nil
	}
	oldest, newest := s.versions()
	a := &ascent{from: oldest}
	if a.path, _ = s.rules().Path(oldest, s.Wanted.KubernetesVersion); len(a.path) == 0 {
		a.path = []string{s.Wanted.KubernetesVersion}
	}
	if len(a.path) > 1 && upgrade.SameMinor(newest, a.path[0]) && upgrade.Compare(newest, a.path[0]) > 0 {
		a.path = slices.Concat([]string{newest}, a.path[1:]) // an earlier spec has requested a newer patch
	}
	a.hop = level{version: a.path[0], settings: requested}
	for _, n := range s.Installed.Nodes {
		switch l := s.level(n); {
		case l == a.hop || upgrade.Compare(l.version, a.hop.version) > 0:
			a.done++
		case controlPlane(n.Roles):
			a.planes = append(a.planes, n)
		default:
			a.workers = append(a.workers, n)
		}
	}
	if len(a.planes)+len(a.workers) == 0 {
		return nil
	}
	if a.narrow = s.narrow(); a.narrow != nil {
		s.patchFirst(a)
	}
	return a
}

// haveAll reports whether all nodes have this level.
func (s State) haveAll(l level) bool {
	return !slices.ContainsFunc(s.Installed.Nodes, func(n contract.Node) bool { return s.level(n) != l })
}

// patchFirst lets living nodes that are half patched be completed before variables are applied without a
// drain. They keep the variables of the record until then.
func (s State) patchFirst(a *ascent) {
	other := func(n contract.Node) bool { return !onlyHalfPatched(n) || s.lost(n) }
	planes, workers := slices.DeleteFunc(slices.Clone(a.planes), other), slices.DeleteFunc(slices.Clone(a.workers), other)
	if len(planes)+len(workers) == 0 {
		return
	}
	a.done += len(a.planes) + len(a.workers) - len(planes) - len(workers)
	a.planes, a.workers, a.narrow = planes, workers, nil
	a.hop.settings = recorded
}

func (s State) rules() upgrade.Rules {
	return upgrade.Rules{Release: s.Wanted.Release, AnyVersion: s.Wanted.DepotChecksums || upgrade.OwnChecksums(s.Wanted.Vars)}
}

// refusedUpgrade returns the parts of the spec that no upgrade applies. As long as there is one, no node
// is upgraded. Other operations go on.
func (s State) refusedUpgrade() []Refusal {
	if len(s.Installed.Nodes) == 0 {
		return nil
	}
	var all []Refusal
	refuse := func(field string, problem *upgrade.Problem) {
		if problem != nil {
			all = append(all, Refusal{Field: field, Text: problem.Text, Advice: problem.Advice})
		}
	}
	oldest, newest := s.versions()
	if _, problem := s.rules().Path(newest, s.Wanted.KubernetesVersion); problem != nil {
		refuse("spec.kubernetes.version", problem)
	} else if _, problem = s.rules().Path(oldest, s.Wanted.KubernetesVersion); problem != nil {
		refuse("spec.kubernetes.version", problem)
	}
	refuse("spec.kubespray.release", upgrade.Release(s.release(), s.Wanted.Release))
	for _, name := range changedVars(s.Installed.Request, s.Wanted.Spec) {
		refuse("spec.kubespray.vars."+name, upgrade.Variable(name))
	}
	return append(all, s.refusedOwnVars()...)
}

// release returns the newest kubespray release that a node has, completely or in part. Names that are no versions count as old
// ones.
func (s State) release() string {
	newest := cmp.Or(s.Installed.Request.Release, contract.DefaultRelease)
	for _, n := range s.Installed.Nodes {
		_, now := s.Installed.Level(n)
		all := []string{now}
		if halfChanged(n) && n.Target.Version != "" {
			all = append(all, n.Target.Settings)
		}
		for _, settings := range all {
			if release := contract.ReleaseOf(settings); upgrade.Compare(release, newest) > 0 {
				newest = release
			}
		}
	}
	return newest
}
