package v1alpha1

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// restoreLostNames restores node names that "kubectl apply" drops. ICN writes a worker that is also
// a master as "- master-1:", whose value is null. kubectl removes nulls before it sends an object,
// and the node's name is removed with the null. kubectl's own annotation still contains the text
// that the user wrote. "kubectl create" and server-side apply send the null unchanged.
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
		return // validation checks the spec, not the annotation
	}
	restore(p.Spec.Masters, applied.Spec.Masters)
	restore(p.Spec.Workers, applied.Spec.Workers)
}

// restore gives an empty item the only key of the item at the same position in written, if that key
// has no value.
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
