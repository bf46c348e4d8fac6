package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

const (
	// ConditionReady is True while the cluster runs as the spec requests and its kubeconfig exists.
	// Otherwise it repeats one of the next six conditions: the first that is False, or else the
	// first that is Unknown. ClusterHealthy with the reason NotChecked does not count.
	ConditionReady = apis.ConditionReady

	// ConditionHostsClaimed is True while this Provisioning holds a host for every node that it
	// requests. It is False if no assignment gives every node a host; the message then names the
	// unmet requirements and how many hosts fail them. It is Unknown until hosts are found.
	ConditionHostsClaimed apis.ConditionType = "HostsClaimed"

	// ConditionArtifactsAvailable is True once the last run found all required images and files in
	// the depot. It is also True if there is no depot. It is False if artifacts are missing or the
	// depot does not answer; status.failure names the missing artifacts and how to upload them. No
	// host is claimed while it is False. It is Unknown before the first check.
	ConditionArtifactsAvailable apis.ConditionType = "ArtifactsAvailable"

	// ConditionClusterInstalled is True once a run has installed Kubernetes on all nodes and the
	// nodes were Ready. It is False if the last run failed; status.failure has the cause and the next
	// action, also for the other conditions that name this run. It is Unknown while a run is active and
	// before the first run.
	ConditionClusterInstalled apis.ConditionType = "ClusterInstalled"

	// ConditionKubeconfigReady is True while the Secret with a valid kubeconfig exists. It is False
	// if the kubeconfig could not be created or has expired. It is Unknown before that.
	ConditionKubeconfigReady apis.ConditionType = "KubeconfigReady"

	// ConditionClusterHealthy is True while the API server of the installed cluster answers and all
	// nodes are Ready. It is False (reason NodesNotReady) if nodes are not; the message names them. It
	// is Unknown (reason APIUnavailable) if the API server does not answer, because nobody knows the
	// state of the nodes then, with the reason AccessDenied if the API server refuses BPA's user, and with
	// ChecksStopped if the last look has shown a problem and nothing looks any more. It is Unknown with the reason NotChecked if nothing
	// looks at the cluster, or before the first looks: Ready then means what the last run said.
	ConditionClusterHealthy apis.ConditionType = "ClusterHealthy"

	// ConditionPluginsInstalled is True if each requested plugin is installed or skipped, and none is left
	// that is not requested any more; the message counts both. It is also True if the spec requests no
	// plugins. It is False if a plugin has failed or cannot be installed; status.failure or the message
	// names the plugins and the next action. It is Unknown before and during the installation of plugins.
	ConditionPluginsInstalled apis.ConditionType = "PluginsInstalled"

	// ConditionCertificatesValid is True while the certificate of the cluster's API server is valid for
	// at least 30 days. It is False (severity Warning) if it expires sooner or has expired; the message
	// has the time and how to renew it. It is Unknown before the certificate was seen. Ready does not
	// depend on it.
	ConditionCertificatesValid apis.ConditionType = "CertificatesValid"

	// ConditionHostsHealthy is True while neither Metal3 nor a user reports a problem with the
	// hosts of this cluster. These are the hosts that this Provisioning holds and the hosts of its
	// nodes. It is False (severity Warning) if a problem is reported; the message names node, host
	// and problem. It is Unknown while there are no such hosts. Ready does not depend on it: a host
	// with a broken power supply can run a node for years.
	ConditionHostsHealthy apis.ConditionType = "HostsHealthy"

	// ConditionStalled is True while the controller cannot continue without a user. There are four
	// possible causes. The last run failed permanently. The spec is invalid, or describes another
	// cluster than the running one. The SSH key is unusable. The running cluster lost a host or its
	// kubeconfig. Otherwise the condition is absent, as kstatus requires. If the condition is True,
	// tools that wait for an object, such as Flux, report a failure instead of work in progress.
	ConditionStalled apis.ConditionType = "Stalled"
)

// The reasons that this package sets or reads. The reasons of failures are in the package contract.
const (
	// ReasonWaiting is the reason of a condition that was not checked yet.
	ReasonWaiting = "Waiting"
	// ReasonSpecChanged means that the spec requests what BPA does not change in the installed
	// cluster. The controller sets it.
	ReasonSpecChanged = "SpecChanged"
	// ReasonNotChecked is the reason of ClusterHealthy while nothing has looked at the cluster.
	ReasonNotChecked = "NotChecked"
	// ReasonNodesNotReady and ReasonAPIUnavailable are what a look at the cluster has shown.
	ReasonNodesNotReady  = "NodesNotReady"
	ReasonAPIUnavailable = "APIUnavailable"
	// ReasonAccessDenied is the reason of ClusterHealthy if the cluster denies the looks at it.
	ReasonAccessDenied = "AccessDenied"
	// ReasonNoPlugins means that spec.KUDPlugins is empty.
	ReasonNoPlugins = "NoPlugins"
	// ReasonNoProblems means that no problem is reported for any host.
	ReasonNoProblems = "NoProblems"
)

// readyNeeds are the conditions that Ready summarizes, in the order in which they normally become
// True.
var readyNeeds = []apis.ConditionType{ConditionHostsClaimed, ConditionArtifactsAvailable, ConditionClusterInstalled, ConditionKubeconfigReady, ConditionClusterHealthy, ConditionPluginsInstalled}

// severities are the severities of the conditions that Ready does not summarize. The other
// conditions have severity error.
var severities = map[apis.ConditionType]apis.ConditionSeverity{
	ConditionHostsHealthy:      apis.ConditionSeverityWarning,
	ConditionCertificatesValid: apis.ConditionSeverityWarning,
	ConditionStalled:           apis.ConditionSeverityInfo,
}

var provisioningConditions = apis.NewLivingConditionSet(readyNeeds...)

// GetConditionSet implements duckv1.KRShaped.
func (*Provisioning) GetConditionSet() apis.ConditionSet { return provisioningConditions }

// GetStatus implements duckv1.KRShaped.
func (p *Provisioning) GetStatus() *duckv1.Status { return &p.Status.Status }

// GetGroupVersionKind implements kmeta.OwnerRefable.
func (*Provisioning) GetGroupVersionKind() schema.GroupVersionKind {
	return SchemeGroupVersion.WithKind("Provisioning")
}

// IsReady reports whether the cluster runs as requested, in the generation that the controller last
// observed.
func (s *ProvisioningStatus) IsReady() bool { return provisioningConditions.Manage(s).IsHappy() }

// NeedsNothing reports whether the controller has nothing left to do for the cluster: Ready depends at
// most on the health of the cluster, which no host and no key of the site changes.
func (s *ProvisioningStatus) NeedsNothing() bool {
	for _, t := range readyNeeds {
		c := s.GetCondition(t)
		if t != ConditionClusterHealthy && !c.IsTrue() && !(t == ConditionPluginsInstalled && c == nil) { // nobody has asked for plugins yet
			return false
		}
	}
	return true
}

// InitializeConditions creates the missing conditions, so that the status shows all of them after
// the first reconcile. It does not change existing conditions.
func (s *ProvisioningStatus) InitializeConditions() {
	for _, t := range readyNeeds {
		switch {
		case s.GetCondition(t) != nil:
		case t == ConditionClusterHealthy: // without a look, the cluster can be Ready
			s.mark(t, corev1.ConditionUnknown, ReasonNotChecked, "")
		case t == ConditionPluginsInstalled:
			s.mark(t, corev1.ConditionTrue, ReasonNoPlugins, "spec.KUDPlugins is empty")
		default:
			s.mark(t, corev1.ConditionUnknown, ReasonWaiting, "")
		}
	}
	if s.GetCondition(ConditionCertificatesValid) == nil {
		s.MarkCertificatesValid(corev1.ConditionUnknown, ReasonWaiting, "")
	}
	if s.GetCondition(ConditionHostsHealthy) == nil {
		s.MarkHostsHealthy(corev1.ConditionUnknown, ReasonWaiting, "")
	}
}

// MarkHostsClaimed sets HostsClaimed, and updates Ready. The message is used as it is: it is not a
// format string.
func (s *ProvisioningStatus) MarkHostsClaimed(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionHostsClaimed, status, reason, message)
}

// MarkArtifactsAvailable sets ArtifactsAvailable, and updates Ready.
func (s *ProvisioningStatus) MarkArtifactsAvailable(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionArtifactsAvailable, status, reason, message)
}

// MarkClusterInstalled sets ClusterInstalled, and updates Ready.
func (s *ProvisioningStatus) MarkClusterInstalled(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionClusterInstalled, status, reason, message)
}

// MarkKubeconfigReady sets KubeconfigReady, and updates Ready.
func (s *ProvisioningStatus) MarkKubeconfigReady(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionKubeconfigReady, status, reason, message)
}

// MarkClusterHealthy sets ClusterHealthy, and updates Ready.
func (s *ProvisioningStatus) MarkClusterHealthy(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionClusterHealthy, status, reason, message)
}

// MarkCertificatesValid sets CertificatesValid. Ready does not change.
func (s *ProvisioningStatus) MarkCertificatesValid(status corev1.ConditionStatus, reason, message string) {
	s.set(ConditionCertificatesValid, status, reason, message)
}

// MarkHostsHealthy sets HostsHealthy. Ready does not change.
func (s *ProvisioningStatus) MarkHostsHealthy(status corev1.ConditionStatus, reason, message string) {
	s.set(ConditionHostsHealthy, status, reason, message)
}

// MarkPluginsInstalled sets PluginsInstalled, and updates Ready.
func (s *ProvisioningStatus) MarkPluginsInstalled(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionPluginsInstalled, status, reason, message)
}

// MarkStalled sets Stalled to True. An empty reason removes the condition. Ready does not change.
func (s *ProvisioningStatus) MarkStalled(reason, message string) {
	if reason == "" {
		_ = provisioningConditions.Manage(s).ClearCondition(ConditionStalled) // ClearCondition fails only for a condition that Ready summarizes, and Stalled is not one of them
		return
	}
	s.set(ConditionStalled, corev1.ConditionTrue, reason, message)
}

func (s *ProvisioningStatus) mark(t apis.ConditionType, status corev1.ConditionStatus, reason, message string) {
	s.set(t, status, reason, message)
	s.summarize()
}

// summarize sets Ready from the conditions in readyNeeds: to the first that is False, or else to
// the first that is Unknown, or else to True. knative's own summary chooses the newest condition
// that is not True, which can change with every reconcile. The result of summarize depends only on
// the values of the conditions, so that the status does not change without a reason.
func (s *ProvisioningStatus) summarize() {
	for _, bad := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown} {
		for _, t := range readyNeeds {
			c := s.GetCondition(t)
			if t == ConditionClusterHealthy && (c == nil || c.Reason == ReasonNotChecked) || t == ConditionPluginsInstalled && c == nil {
				continue
			}
			if c == nil {
				c = &apis.Condition{Type: t, Status: corev1.ConditionUnknown, Reason: ReasonWaiting}
			}
			if c.Status == bad {
				s.set(ConditionReady, bad, c.Reason, c.Message)
				return
			}
		}
	}
	s.set(ConditionReady, corev1.ConditionTrue, "", "")
}

// set writes one condition. If the condition already has these values, its transition time does not
// change.
func (s *ProvisioningStatus) set(t apis.ConditionType, status corev1.ConditionStatus, reason, message string) {
	provisioningConditions.Manage(s).SetCondition(apis.Condition{
		Type: t, Status: status, Severity: severities[t], Reason: reason, Message: message,
	})
}

// ClusterUID returns the identity of the cluster: the UID of the Provisioning that has installed it. It survives a new
// UID of the Provisioning, so that marks on machines and Backups stay those of this cluster.
func (p *Provisioning) ClusterUID() string {
	if p.Status.ClusterUID != "" {
		return p.Status.ClusterUID
	}
	return string(p.UID)
}
