package contract

import "slices"

// Target is what a run has begun to give to a node.
type Target struct {
	// Version is a Kubernetes version and Settings a result of Request.SettingsOf. Empty: no playbook has
	// begun to change the node.
	Version  string `json:"version,omitempty"`
	Settings string `json:"settings,omitempty"`
	// Variables are the names of all variables that the run has begun to apply without a drain
	// (Upgrade.Narrow). Nothing else of the node can be half changed then. Empty: anything can.
	Variables []string `json:"variables,omitempty"`
	// Patch is the patch level that the operating system was to get; empty: no patch has begun.
	Patch string `json:"patch,omitempty"`
}

// Unpatched returns what is left of the target when a playbook has completed its part: the patch that has
// begun; nil: none has.
func (t *Target) Unpatched() *Target {
	if t == nil || t.Patch == "" {
		return nil
	}
	return &Target{Patch: t.Patch}
}

// Lacks reports whether an installed node needs a playbook to have the version and the variables of the
// request, and whether it needs a patch to have the patch level of its Upgrade. What a run has begun and
// not completed is needed again.
func (i Installed) Lacks(n Node, r Request) (level, patch bool) {
	begun := Target{}
	if n.Target != nil {
		begun = *n.Target
	}
	version, settings := i.Level(n)
	level = begun.Version != "" || version != r.KubernetesVersion || settings != r.SettingsOf(n)
	patch = r.Upgrade != nil && r.Upgrade.Patch != "" && (begun.Patch != "" || i.PatchOf(n) != r.Upgrade.Patch)
	return level, patch
}

// OnlyPatches reports whether the run only patches operating systems: it has an Upgrade with a patch, and
// all nodes of it have the version and the variables of the request. Such a run needs no playbook and
// none of its artifacts.
func (r Request) OnlyPatches() bool {
	return r.Upgrade != nil && r.Upgrade.Patch != "" && !slices.ContainsFunc(r.Upgrade.Nodes, func(name string) bool {
		i := slices.IndexFunc(r.Members, func(n Node) bool { return n.Name == name })
		if i < 0 {
			return true
		}
		level, _ := Installed{Request: r.Spec}.Lacks(r.Members[i], r)
		return level
	})
}

// CopyTargets gives each node the target that the record has for the same host. A host that gets a new
// node, or that is installed anew, has none: renewed is the result of Request.Renewed.
func CopyTargets(nodes, record []Node, renewed []string) {
	for i, n := range nodes {
		nodes[i].Target = nil
		j := slices.IndexFunc(record, func(r Node) bool { return r.HostUID == n.HostUID && n.HostUID != "" && r.Name == n.Name })
		if j >= 0 && !slices.Contains(renewed, n.Name) {
			nodes[i].Target = record[j].Target
		}
	}
}
