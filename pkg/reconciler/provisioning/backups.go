package provisioning

import (
	"context"
	"errors"
	"fmt"

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

// keyProblem describes why the Secret with the key for backups does not open this one; empty: it does. The
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
