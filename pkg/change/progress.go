package change

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// Progress describes an upgrade that is under way or that waits.
type Progress struct {
	From, To, Hop string // the oldest version of a node, the requested version, and the one that all nodes get first
	Newest        string // the newest version of a node
	Done, Total   int    // nodes that have Hop with the variables that come first, and all nodes
	// Waits is why the upgrade does not go on; empty: it does.
	Waits string
	// Paused reports that it waits because of Rollout.PauseAfterControlPlane.
	Paused bool
	// Versions has the versions of the nodes in words.
	Versions string
	// Patch is the patch level that nodes get; empty: no node is to be patched. OnlyPatch reports that no
	// node needs anything else.
	Patch     string
	OnlyPatch bool
}

// Upgrading returns how far the requested upgrade is; nil: the nodes have what the spec requests, or it is
// refused. For an upgrade that is refused after it has begun, Hop is empty.
func Upgrading(s State) *Progress {
	if len(s.Installed.Nodes) == 0 {
		return nil
	}
	p := &Progress{To: s.Wanted.KubernetesVersion, Total: len(s.Installed.Nodes)}
	a := s.ascent()
	switch {
	case a != nil:
		p.Hop, p.Done, p.Waits = a.hop.version, a.done, s.waitsFor(a)
		p.Paused = s.pauses(a)
	case len(s.refusedUpgrade()) == 0 || !s.mixed() && !slices.ContainsFunc(s.Installed.Nodes, halfChanged):
		return nil
	}
	p.From, p.Newest = s.versions()
	p.Versions = s.describeVersions()
	if s.patches() {
		p.Patch, p.OnlyPatch = s.patch(s.Installed.Nodes), a != nil && len(a.path) == 1 && s.onlyPatches(a)
	}
	return p
}

// describeVersions lists the nodes by their versions, the newest first. Nodes of one version that have
// different variables, and those that are half changed, are listed apart.
func (s State) describeVersions() string {
	groups := map[level][]string{}
	for _, n := range s.Installed.Nodes {
		groups[s.level(n)] = append(groups[s.level(n)], n.Name)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b level) int {
		return cmp.Or(upgrade.Compare(b.version, a.version), oneIf(b.settings == requested)-oneIf(a.settings == requested), cmp.Compare(a.settings, b.settings), cmp.Compare(a.begun, b.begun), cmp.Compare(a.patch, b.patch))
	})
	patches := s.patches()
	sameVersion := func(l level) bool {
		return slices.ContainsFunc(order, func(o level) bool { return o.version == l.version && o.settings != l.settings })
	}
	var parts []string
	for _, l := range order {
		text := l.version
		switch {
		case l.begun == l.version:
			text += ", other settings not complete"
		case l.begun != "":
			text += ", upgrade to " + l.begun + " not complete"
		case sameVersion(l) && l.settings == requested:
			text += " with the requested settings"
		case sameVersion(l):
			text += " with earlier settings"
		}
		switch {
		case l.patch == patching:
			text += ", patch not complete"
		case l.patch == unpatched:
			text += ", not patched"
		case patches && s.Wanted.Patched != "": // otherwise the others stay as they are
			text += ", patched"
		}
		parts = append(parts, fmt.Sprintf("%s: %s", text, listNames(groups[l])))
	}
	return strings.Join(parts, "; ")
}

// listNames joins at most the first ten names, and adds the number of the others.
func listNames(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
