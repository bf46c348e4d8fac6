package contract

import "slices"

// Target is a Kubernetes version and a result of Request.Settings that a run has begun to give to a node.
type Target struct {
	Version  string `json:"version"`
	Settings string `json:"settings"`
}

// At reports whether an installed node has this version and these variables. A node that a run has begun
// to change has none completely.
func (i Installed) At(n Node, version, settings string) bool {
	v, s := i.Level(n)
	return n.Target == nil && v == version && s == settings
}

// CopyTargets gives each node the target that the record has for the same host. A host that gets a new
// node has none: gone are the names of the nodes that the run replaces.
func CopyTargets(nodes, record []Node, gone []string) {
	for i, n := range nodes {
		nodes[i].Target = nil
		j := slices.IndexFunc(record, func(r Node) bool { return r.HostUID == n.HostUID && n.HostUID != "" && r.Name == n.Name })
		if j >= 0 && !slices.Contains(gone, n.Name) {
			nodes[i].Target = record[j].Target
		}
	}
}
