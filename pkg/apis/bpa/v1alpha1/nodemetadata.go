package v1alpha1

import (
	"maps"
	"slices"
)

// MetadataOf returns what the spec requests for a node. set is the node set of the node; empty: it is a master or a
// worker. A worker with a master's name adds to what the master has.
func (s *ProvisioningSpec) MetadataOf(node, set string) (m NodeMetadata) {
	if set != "" {
		for _, n := range s.NodeSets {
			if n.Name == set {
				return n.NodeMetadata
			}
		}
		return m
	}
	for _, item := range s.Masters {
		m = m.and(item[node].NodeMetadata)
	}
	for _, item := range s.Workers {
		m = m.and(item[node].NodeMetadata)
	}
	return m
}

// and returns both. For the same label, annotation or taint, the value of o counts: the webhook refuses two values.
func (m NodeMetadata) and(o NodeMetadata) NodeMetadata {
	both := NodeMetadata{Labels: both(m.Labels, o.Labels), Annotations: both(m.Annotations, o.Annotations), Taints: slices.Clone(o.Taints)}
	for _, t := range m.Taints {
		if !slices.ContainsFunc(o.Taints, t.Same) {
			both.Taints = append(both.Taints, t)
		}
	}
	return both
}

// and returns both. For the same variable, the value of o counts: the webhook refuses two values.
func (v NodeVars) and(o NodeVars) NodeVars { return NodeVars{Vars: both(v.Vars, o.Vars)} }

func both[T any](under, over map[string]T) map[string]T {
	if len(under)+len(over) == 0 {
		return nil
	}
	all := make(map[string]T, len(under)+len(over))
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}

// Same reports whether two taints have the same key and effect.
func (t NodeTaint) Same(o NodeTaint) bool { return t.Key == o.Key && t.Effect == o.Effect }
