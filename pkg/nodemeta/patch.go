package nodemeta

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Patch returns the JSON merge patch that gives a Node the wanted metadata; nil: it has them. resourceVersion is that of
// the Node: the API server refuses the patch if the Node has changed since it was read, because the list of its taints
// can only be replaced as a whole, and the node controller changes it too.
//
// What BPA has set before and is not wanted any more is removed, unless somebody has given it another value since. What
// BPA has not set stays, but for keys that are wanted with another value.
func Patch(node, want Metadata, resourceVersion string) ([]byte, error) {
	var before Metadata
	value, recorded := node.Annotations[Annotation]
	if recorded && json.Unmarshal([]byte(value), &before) != nil {
		before = Metadata{} // somebody else wrote it: nobody knows what BPA has set
	}
	labels := changes(node.Labels, before.Labels, want.Labels)
	annotations := changes(node.Annotations, before.Annotations, want.Annotations)
	switch {
	case want.IsEmpty() && recorded:
		annotations[Annotation] = nil
	case !want.IsEmpty() && value != want.encode():
		value = want.encode()
		annotations[Annotation] = &value
	}
	taints, changed := taintsOf(node.Taints, before.Taints, want.Taints)
	if len(labels) == 0 && len(annotations) == 0 && !changed {
		return nil, nil
	}
	metadata := map[string]any{"resourceVersion": resourceVersion}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	patch := map[string]any{"metadata": metadata}
	if changed {
		patch["spec"] = map[string]any{"taints": taints}
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the patch of a Node: %w", err)
	}
	return text, nil
}

// changes returns the new values of the keys that change; nil: the key is removed.
func changes(have, before, want map[string]string) map[string]*string {
	changed := map[string]*string{}
	for key, value := range want {
		if now, there := have[key]; !there || now != value {
			changed[key] = &value
		}
	}
	for key, value := range before {
		if _, wanted := want[key]; wanted {
			continue
		}
		if now, there := have[key]; there && now == value {
			changed[key] = nil
		}
	}
	return changed
}

// taintsOf returns all taints of the Node after the change, and whether they differ from those before. A taint that
// stays keeps its time, from which the API server counts the tolerationSeconds of pods.
func taintsOf(have, before, want []Taint) (all []Taint, changed bool) {
	all = []Taint{}
	for _, t := range have {
		wanted := slices.IndexFunc(want, t.same)
		switch {
		case wanted >= 0 && want[wanted].Value != t.Value, wanted < 0 && slices.ContainsFunc(before, t.equals):
			changed = true
		default:
			all = append(all, t)
		}
	}
	for _, t := range want {
		if !slices.ContainsFunc(all, t.same) {
			all, changed = append(all, t), true
		}
	}
	return all, changed
}
