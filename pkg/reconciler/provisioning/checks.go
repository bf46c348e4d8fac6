package provisioning

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// observeChecks reads what the newest run that installs nodes has found out about their hosts. It is the only part of the outcome
// of a run that the controller reads, and nothing is decided by it.
func (r *Reconciler) observeChecks(p *v1alpha1.Provisioning, seen *plan.Seen) error {
	run := seen.LastCheck()
	if run == nil || run.Request.Name == "" {
		return nil
	}
	name := contract.OutcomeName(run.Request.Name)
	cm, err := r.configMaps.ConfigMaps(p.Namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	text, checked := cm.Data[contract.KeyChecks]
	if owner := metav1.GetControllerOf(cm); !checked || owner == nil || owner.UID != p.UID && owner.Name != run.Name {
		return nil
	}
	checks := parse(r.parsed.about(keyOf(p)), name, contract.KeyChecks, text, func(text string) (checks contract.Checks) {
		_ = json.Unmarshal([]byte(text), &checks) // what cannot be read says nothing
		return checks
	})
	seen.Checks = &plan.Checks{Run: run.Name, Checks: checks}
	return nil
}
