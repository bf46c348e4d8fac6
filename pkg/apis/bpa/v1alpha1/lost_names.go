package v1alpha1

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// restoreLostNames restores node names that "kubectl apply" drops. ICN writes a worker that is also
// a master as "- master-1:", which is a map with the value null. kubectl removes nulls before it
// sends an object, and thereby also the key, which is the node's name. The names are restored from
// kubectl's own annotation, which still contains the object as the user wrote it. "kubectl create"
// and server-side apply send the null, so there is nothing to restore.
func (p *Provisioning) restoreLostNames() {
	written := p.Annotations[corev1.LastAppliedConfigAnnotation]
	if written == "" {
		return
	}
	var applied struct {
		Spec struct {
			Masters []map[string]*Master `json:"masters"`
			Workers []map[string]*Worker `json:"workers"`
		} `json:"spec"`
	}
	if json.Unmarshal([]byte(written), &applied) != nil {
		return // an invalid annotation is no error: validation checks only the spec
	}
	restore(p.Spec.Masters, applied.Spec.Masters)
	restore(p.Spec.Workers, applied.Spec.Workers)
}

// restore copies lost keys from written into items. It changes only items that are empty. The item
// at the same position in written must have exactly one key, and the value of this key must be
// null.
func restore[N any](items []map[string]N, written []map[string]*N) {
	if len(items) != len(written) {
		return
	}
	for i, item := range items {
		if len(item) != 0 || len(written[i]) != 1 {
			continue
		}
		for name, value := range written[i] {
			if value == nil {
				var empty N
				items[i] = map[string]N{name: empty}
			}
		}
	}
}
