package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// ConditionSucceeded is True once the copy is in the depot and its digest was compared. It is False if
// there is no copy; the message has the cause and the next command. It is Unknown before that. Once it
// is True or False, it does not change any more.
const ConditionSucceeded = apis.ConditionSucceeded

var backupConditions = apis.NewBatchConditionSet()

// GetConditionSet implements duckv1.KRShaped.
func (*Backup) GetConditionSet() apis.ConditionSet { return backupConditions }

// GetStatus implements duckv1.KRShaped.
func (b *Backup) GetStatus() *duckv1.Status { return &b.Status.Status }

// GetGroupVersionKind implements kmeta.OwnerRefable.
func (*Backup) GetGroupVersionKind() schema.GroupVersionKind {
	return SchemeGroupVersion.WithKind("Backup")
}

// InitializeConditions creates the condition Succeeded. It does not change an existing condition.
func (s *BackupStatus) InitializeConditions() {
	if s.GetCondition(ConditionSucceeded) == nil {
		s.MarkSucceeded(corev1.ConditionUnknown, ReasonWaiting, "")
	}
}

// MarkSucceeded sets the condition Succeeded. The message is used as it is: it is not a format string.
// If the condition already has these values, its transition time does not change.
func (s *BackupStatus) MarkSucceeded(status corev1.ConditionStatus, reason, message string) {
	backupConditions.Manage(s).SetCondition(apis.Condition{
		Type: ConditionSucceeded, Status: status, Reason: reason, Message: message,
	})
}

// IsDone reports whether the backup has succeeded or failed.
func (s *BackupStatus) IsDone() bool { return s.IsSucceeded() || s.IsFailed() }

// IsSucceeded reports whether the copy is in the depot.
func (s *BackupStatus) IsSucceeded() bool { return s.GetCondition(ConditionSucceeded).IsTrue() }

// IsFailed reports whether there is no copy and will be none.
func (s *BackupStatus) IsFailed() bool { return s.GetCondition(ConditionSucceeded).IsFalse() }
