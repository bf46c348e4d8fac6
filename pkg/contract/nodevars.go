package contract

import (
	"encoding/json"
	"maps"
)

// VarsOf returns the kubespray variables that only this node, or all nodes of its set, have; nil: none. They override
// all other variables of the request.
func (s Spec) VarsOf(n Node) map[string]json.RawMessage {
	_, vars := s.ownOf(n)
	return vars
}

// SettingsOf is Settings for one node: the digest is that of the variables that the node gets. Without variables of its
// own, or if they have the values of the cluster, it is that of Settings.
func (s Spec) SettingsOf(n Node) string { return s.SettingsWith(s.VarsOf(n)) }

// SettingsWith is SettingsOf for a node with these variables.
func (s Spec) SettingsWith(own map[string]json.RawMessage) string {
	if len(own) == 0 {
		return s.Settings()
	}
	all := maps.Clone(s.AllVars())
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, own)
	s.Vars, s.SecretVars = all, nil
	return s.Settings()
}
