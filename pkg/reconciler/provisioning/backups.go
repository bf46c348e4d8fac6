package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// observeBackups reads the Backup that a requested restore needs, and the newest one if etcd has lost its
// majority. It makes a call only while a requested restore waits: the Secret with the private key is in no
// cache.
func (r *Reconciler) observeBackups(ctx context.Context, p *v1alpha1.Provisioning, seen *plan.Seen) error {
	if seen.Deleting || !seen.NeedsBackups() {
		return nil
	}
	all, err := r.backups.Backups(p.Namespace).List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list Backups: %w", err)
	}
	seen.Backup = plan.NewestBackup(p, all)
	name, _ := plan.RestoreFrom(seen.RestoreAsked())
	seen.Source = plan.Source{}
	for _, b := range all {
		if b.Name == name {
			seen.Source.Backup = b
		}
	}
	if seen.Source.Backup == nil || seen.RestoreProblem() != "" || len(seen.ActiveRuns()) > 0 {
		return nil // the key does not matter now
	}
	seen.Source.Key, err = r.keyProblem(ctx, p, seen.Source.Backup)
	return err
}

// keyProblem describes why the key in the Secret cannot decrypt this Backup; empty: it can. The
// private key is only compared: it goes nowhere else.
func (r *Reconciler) keyProblem(ctx context.Context, p *v1alpha1.Provisioning, b *v1alpha1.Backup) (string, error) {
	name := contract.BackupKeyName(p.Name)
	secret, err := r.kube.CoreV1().Secrets(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return plan.KeyProblem(b, true, errors.New("it does not exist")), nil
	}
	if err != nil {
		return "", fmt.Errorf("get Secret %s: %w", name, err)
	}
	if why := backup.CheckIdentity(secret.Data, b.Status.Recipient); why != nil {
		return plan.KeyProblem(b, false, why), nil
	}
	return "", nil
}

// activeBackup returns the name of a Backup of this Provisioning whose run is active; empty: there is none. A
// Backup that is being deleted stops its run. A deletion of the Provisioning does not wait for a Backup.
func (r *Reconciler) activeBackup(p *v1alpha1.Provisioning) (string, error) {
	if p.DeletionTimestamp != nil {
		return "", nil
	}
	all, err := r.backups.Backups(p.Namespace).List(labels.Everything())
	if err != nil {
		return "", fmt.Errorf("list Backups: %w", err)
	}
	for _, b := range all {
		if b.Spec.Provisioning == p.Name && b.Status.Run != "" && !b.Status.IsDone() && b.DeletionTimestamp == nil {
			return b.Name, nil
		}
	}
	return "", nil
}

// backupRunLive asks the API server itself for an active run of a Backup of this Provisioning, and returns its
// name; empty: there is none. The cache may not show yet that a Backup has begun.
func (r *Reconciler) backupRunLive(ctx context.Context, p *v1alpha1.Provisioning) (string, error) {
	all, err := r.tekton.TektonV1().PipelineRuns(p.Namespace).List(ctx, metav1.ListOptions{LabelSelector: contract.LabelBackup})
	if err != nil {
		return "", fmt.Errorf("list the PipelineRuns of Backups: %w", err)
	}
	for _, run := range all.Items {
		if !run.IsDone() && slices.ContainsFunc(run.Spec.Params, func(param tekton.Param) bool {
			return param.Name == contract.ParamProvisioning && param.Value.StringVal == p.Name
		}) {
			return run.Name, nil
		}
	}
	return "", nil
}
