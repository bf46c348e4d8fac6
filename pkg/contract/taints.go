package contract

import "encoding/json"

// TaintsOf returns the taints with which a node joins the cluster.
func (s Spec) TaintsOf(n Node) []string {
	taints, _ := s.ownOf(n)
	return taints
}

// ownOf returns what the spec says of this node alone, or of all nodes of its set.
func (s Spec) ownOf(n Node) (taints []string, vars map[string]json.RawMessage) {
	for _, set := range s.Sets {
		if n.Set == set.Name {
			return set.Taints, set.Vars
		}
	}
	for _, slot := range s.Slots {
		if n.Set == "" && n.Name == slot.Name {
			return slot.Taints, slot.Vars
		}
	}
	return nil, nil
}
