package v1alpha1

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// Conditions of a Software. All of them exist from the first visit. Ready follows the others.
const (
	// ConditionSoftwareAccepted is False if the cluster does not exist, or if two Softwares of it request
	// different versions of a package.
	ConditionSoftwareAccepted apis.ConditionType = "Accepted"
	// ConditionSoftwareInstalled is True if every node has every package, Unknown while a run is under way
	// or waits, and False if a package has failed, was changed by hand, or cannot be found.
	ConditionSoftwareInstalled apis.ConditionType = "Installed"
)

var softwareConditions = apis.NewLivingConditionSet(ConditionSoftwareAccepted, ConditionSoftwareInstalled)

// GetConditionSet implements duckv1.KRShaped.
func (*Software) GetConditionSet() apis.ConditionSet { return softwareConditions }

// GetStatus implements duckv1.KRShaped.
func (s *Software) GetStatus() *duckv1.Status { return &s.Status.Status }

// GetGroupVersionKind implements kmeta.OwnerRefable.
func (*Software) GetGroupVersionKind() schema.GroupVersionKind {
	return SchemeGroupVersion.WithKind("Software")
}

// InitializeConditions creates the conditions. It does not change existing ones.
func (s *SoftwareStatus) InitializeConditions() { softwareConditions.Manage(s).InitializeConditions() }

// Mark sets a condition. The message is used as it is: it is not a format string. Ready follows.
func (s *SoftwareStatus) Mark(condition apis.ConditionType, status corev1.ConditionStatus, reason, message string) {
	m := softwareConditions.Manage(s)
	switch status {
	case corev1.ConditionTrue:
		m.MarkTrueWithReason(condition, reason, "%s", message)
	case corev1.ConditionFalse:
		m.MarkFalse(condition, reason, "%s", message)
	default:
		m.MarkUnknown(condition, reason, "%s", message)
	}
}

// MarkStalled sets Stalled to True. An empty reason removes the condition. Ready does not change.
func (s *SoftwareStatus) MarkStalled(reason, message string) {
	m := softwareConditions.Manage(s)
	if reason == "" {
		_ = m.ClearCondition(ConditionStalled) // fails only for a condition that Ready summarizes
		return
	}
	m.SetCondition(apis.Condition{Type: ConditionStalled, Status: corev1.ConditionTrue, Severity: apis.ConditionSeverityInfo, Reason: reason, Message: message})
}

var _ apis.Defaultable = (*Software)(nil)

// SetDefaults does nothing: the defaults of a Software are not stored, so that an edit of the label counts.
func (*Software) SetDefaults(context.Context) {}

// ClusterName returns the name of the cluster: spec.cluster, or ICN's label "cluster"; empty: there is none.
func (s *Software) ClusterName() string {
	if s.Spec.Cluster != "" {
		return s.Spec.Cluster
	}
	return s.Labels[LabelCluster]
}

// AutoUpdates reports whether newer versions are installed automatically.
func (s *SoftwareSpec) AutoUpdates() bool { return s.AutoUpdate == nil || *s.AutoUpdate }
