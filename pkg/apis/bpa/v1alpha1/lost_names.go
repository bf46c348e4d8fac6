package v1alpha1

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// restoreLostNames brings back what "kubectl apply" drops. ICN writes a worker that is a master again as "- master-1:", whose value is
// null; kubectl removes nulls before it sends an object, and with this one goes the node's name. What the person wrote is still in
// kubectl's own annotation. "kubectl create" and server-side apply send the null as it is.
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
		return // not ours to judge: validation looks at the spec
	}
	restore(p.Spec.Masters, applied.Spec.Masters)
	restore(p.Spec.Workers, applied.Spec.Workers)
}

// restore names an empty item after the only key of the written one at its place, if that key had no value.
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
