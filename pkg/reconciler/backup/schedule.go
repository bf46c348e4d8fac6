package backup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/client/clientset/versioned"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/backup/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
)

// Scheduler creates the Backups of Provisionings at the times of their schedules, and deletes surplus
// ones. Its keys are those of Provisionings.
type Scheduler struct {
	reconciler.LeaderAwareFuncs
	bpa           versioned.Interface
	provisionings listers.ProvisioningLister
	backups       listers.BackupLister
	settings      func() caches.Settings
	clock         clock.PassiveClock
}

var _ controller.Reconciler = (*Scheduler)(nil)

// Reconcile implements controller.Reconciler.
func (s *Scheduler) Reconcile(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return controller.NewPermanentError(err)
	}
	if !s.IsLeaderFor(types.NamespacedName{Namespace: namespace, Name: name}) {
		return controller.NewSkipKey(key)
	}
	p, err := s.provisionings.Provisionings(namespace).Get(name)
	if apierrors.IsNotFound(err) || err == nil && p.Spec.Backup == nil {
		return nil
	}
	if err != nil {
		return err
	}
	table, err := s.observe(p)
	if err != nil {
		return err
	}
	due := table.At(s.clock.Now())
	if err := s.apply(ctx, p, due); err != nil {
		return err
	}
	if due.After > 0 {
		return controller.NewRequeueAfter(due.After)
	}
	return nil
}

// observe reads the schedule of a Provisioning and the Backups that it has created, from the caches.
func (s *Scheduler) observe(p *v1alpha1.Provisioning) (plan.Timetable, error) {
	t := plan.Timetable{Policy: p.Spec.Backup, Installed: p.Status.InstalledDigest != "", Leaving: p.DeletionTimestamp != nil, MinAge: s.settings().BackupMinAge}
	t.Mark, _ = time.Parse(time.RFC3339, p.Annotations[contract.AnnotationBackupScheduled]) // zero if there is none, or if a user has changed it
	all, err := s.backups.Backups(p.Namespace).List(labels.SelectorFromSet(labels.Set{contract.LabelBackupOf: p.ClusterUID()}))
	if err != nil {
		return t, fmt.Errorf("list Backups: %w", err)
	}
	for _, b := range all {
		at, err := time.Parse(time.RFC3339, b.Annotations[contract.AnnotationBackupScheduled])
		if err != nil || b.Spec.Provisioning != p.Name {
			continue // not created by the schedule
		}
		t.Backups = append(t.Backups, plan.Scheduled{Name: b.Name, At: at, Succeeded: b.Status.IsSucceeded(), Failed: b.Status.IsFailed(), Deleting: b.DeletionTimestamp != nil})
	}
	return t, nil
}

// apply creates the Backup before it writes the mark: if it is interrupted between them, the name of the
// Backup shows that it exists.
func (s *Scheduler) apply(ctx context.Context, p *v1alpha1.Provisioning, due plan.Due) error {
	if !due.Create.IsZero() {
		b := &v1alpha1.Backup{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: p.Namespace, Name: plan.Name(p.Name, due.Create),
				Labels:      map[string]string{contract.LabelBackupOf: p.ClusterUID(), "app.kubernetes.io/part-of": "bpa", "app.kubernetes.io/managed-by": "bpa-controller"},
				Annotations: map[string]string{contract.AnnotationBackupScheduled: due.Create.Format(time.RFC3339)},
			},
			Spec: v1alpha1.BackupSpec{Provisioning: p.Name},
		}
		if _, err := s.bpa.BpaV1alpha1().Backups(p.Namespace).Create(ctx, b, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create Backup %s: %w", b.Name, err)
		}
	}
	if !due.Mark.IsZero() {
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, p.UID, contract.AnnotationBackupScheduled, due.Mark.Format(time.RFC3339))
		if _, err := s.bpa.BpaV1alpha1().Provisionings(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("record the time of the schedule on Provisioning %s: %w", p.Name, err)
		}
	}
	for _, name := range due.Delete {
		if err := s.bpa.BpaV1alpha1().Backups(p.Namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the old Backup %s: %w", name, err)
		}
	}
	return nil
}
