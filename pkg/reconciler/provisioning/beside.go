package provisioning

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// observeBeside finds out whether another run waits for the end of the active run, and could start then.
func (r *Reconciler) observeBeside(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen, now time.Time) error {
	without, ok := plan.Beside(*seen)
	if !ok {
		return nil
	}
	step, starts := plan.Upcoming(without, now)
	if !starts || !without.Waits(step) {
		return nil
	}
	if contract.OperationOf(step.Operation).ExcludesBackup() {
		var err error
		if without.BackingUp, err = r.activeBackup(p); err != nil {
			return err
		}
	}
	if err := r.observeNeeds(ctx, p, step, &without, now); err != nil {
		return err
	}
	if next := plan.Next(without, now); without.Waits(next) {
		seen.Beside = &next
	}
	return nil
}

// endRun asks a run to end after the nodes on which it works. Its task reads this in a ConfigMap that it can read anyway.
func (r *Reconciler) endRun(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, run string) error {
	name := contract.ProgressName(p.Name)
	if newest := seen.Software.Newest(); newest != nil && newest.Name == run {
		name = contract.SoftwareName(p.Name)
	}
	record, err := r.configMapLive(ctx, p, name)
	if err != nil || record == nil {
		return err
	}
	if record.Data == nil {
		record.Data = map[string]string{}
	}
	record.Data[contract.KeyEnds] = run
	_, err = r.kube.CoreV1().ConfigMaps(p.Namespace).Update(ctx, record, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // the task has written
		return &notYet{"ConfigMap " + record.Name + " has changed", behind}
	}
	if err != nil {
		return fmt.Errorf("update ConfigMap %s: %w", record.Name, err)
	}
	return nil
}
