package v1alpha1

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

const (
	// ConditionReady is True while the cluster runs as asked and its kubeconfig is there; otherwise it repeats the first
	// of the four conditions below that is False, else the first that is Unknown.
	ConditionReady = apis.ConditionReady

	// ConditionHostsClaimed is True while this Provisioning holds a host for every node that it asks for, False if no
	// assignment exists (the message says which requirement fails on how many hosts), Unknown while hosts are looked
	// for or before the first look.
	ConditionHostsClaimed apis.ConditionType = "HostsClaimed"

	// ConditionArtifactsAvailable is True once the last run found every image and file that the installation needs in the depot, or
	// there is none, False if some are missing or the depot does not answer (the message says what is missing and how to bring it;
	// no host is claimed before), Unknown while nobody has looked.
	ConditionArtifactsAvailable apis.ConditionType = "ArtifactsAvailable"

	// ConditionClusterInstalled is True once a run has installed Kubernetes on all nodes and they were Ready, False if the
	// last run failed, Unknown while a run works or before the first one.
	ConditionClusterInstalled apis.ConditionType = "ClusterInstalled"

	// ConditionKubeconfigReady is True while the Secret with a valid kubeconfig exists, False if it could not be made or
	// has expired, Unknown before.
	ConditionKubeconfigReady apis.ConditionType = "KubeconfigReady"

	// ConditionPluginsInstalled is True if there are no plugins to install, False (severity Info) if there are: this
	// version does not install them yet. Ready does not depend on it. It is never Unknown.
	ConditionPluginsInstalled apis.ConditionType = "PluginsInstalled"

	// ConditionHostsHealthy is True while neither Metal3 nor a person says anything against the hosts that this Provisioning holds or
	// its nodes are on, False (severity Warning; the message names node, host and trouble) if somebody does, Unknown while there are no
	// such hosts. Ready does not depend on it: a host with a broken power supply can run a node for years.
	ConditionHostsHealthy apis.ConditionType = "HostsHealthy"

	// ConditionStalled is True while nothing goes on before a person acts: the last run failed for good, the spec is invalid or describes another
	// cluster than the one that runs, the key to the hosts is unusable, or the running cluster lost a host or its kubeconfig. Otherwise it is absent,
	// as the convention of kstatus wants it: tools that wait for an object, such as Flux, then see a failure and not work in progress.
	ConditionStalled apis.ConditionType = "Stalled"
)

// Reasons that this package gives by itself; those of failures are in the package contract.
const (
	// ReasonWaiting is the reason of a condition about which nothing is known yet.
	ReasonWaiting = "Waiting"
	// ReasonNoPlugins says that spec.KUDPlugins is empty.
	ReasonNoPlugins = "NoPlugins"
	// ReasonNoProblems says that nothing is said against any host.
	ReasonNoProblems = "NoProblems"
	// ReasonPluginsNotSupported says that this version does not install plugins.
	ReasonPluginsNotSupported = "PluginsNotSupported"
)

// readyNeeds are the conditions that Ready stands for, in the order in which they become True.
var readyNeeds = []apis.ConditionType{ConditionHostsClaimed, ConditionArtifactsAvailable, ConditionClusterInstalled, ConditionKubeconfigReady}

// severities of the conditions that Ready does not stand for; those of the others are errors.
var severities = map[apis.ConditionType]apis.ConditionSeverity{
	ConditionPluginsInstalled: apis.ConditionSeverityInfo,
	ConditionHostsHealthy:     apis.ConditionSeverityWarning,
	ConditionStalled:          apis.ConditionSeverityInfo,
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

// IsReady reports whether the cluster runs as asked in the generation that the controller saw last.
func (s *ProvisioningStatus) IsReady() bool { return provisioningConditions.Manage(s).IsHappy() }

// InitializeConditions makes every condition exist, so that the first visit already shows them all. It changes none that exists.
func (s *ProvisioningStatus) InitializeConditions() {
	for _, t := range readyNeeds {
		if s.GetCondition(t) == nil {
			s.mark(t, corev1.ConditionUnknown, ReasonWaiting, "")
		}
	}
	if s.GetCondition(ConditionPluginsInstalled) == nil {
		s.MarkPlugins(nil)
	}
	if s.GetCondition(ConditionHostsHealthy) == nil {
		s.MarkHostsHealthy(corev1.ConditionUnknown, ReasonWaiting, "")
	}
}

// MarkHostsClaimed sets HostsClaimed, and Ready with it. The message is shown as it is.
func (s *ProvisioningStatus) MarkHostsClaimed(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionHostsClaimed, status, reason, message)
}

// MarkArtifactsAvailable sets ArtifactsAvailable, and Ready with it.
func (s *ProvisioningStatus) MarkArtifactsAvailable(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionArtifactsAvailable, status, reason, message)
}

// MarkClusterInstalled sets ClusterInstalled, and Ready with it.
func (s *ProvisioningStatus) MarkClusterInstalled(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionClusterInstalled, status, reason, message)
}

// MarkKubeconfigReady sets KubeconfigReady, and Ready with it.
func (s *ProvisioningStatus) MarkKubeconfigReady(status corev1.ConditionStatus, reason, message string) {
	s.mark(ConditionKubeconfigReady, status, reason, message)
}

// MarkHostsHealthy sets HostsHealthy. Ready does not change.
func (s *ProvisioningStatus) MarkHostsHealthy(status corev1.ConditionStatus, reason, message string) {
	s.set(ConditionHostsHealthy, status, reason, message)
}

// MarkPlugins sets PluginsInstalled from the plugins that the spec asks for. Ready does not change.
func (s *ProvisioningStatus) MarkPlugins(plugins []string) {
	if len(plugins) == 0 {
		s.set(ConditionPluginsInstalled, corev1.ConditionTrue, ReasonNoPlugins, "spec.KUDPlugins asks for none")
		return
	}
	s.set(ConditionPluginsInstalled, corev1.ConditionFalse, ReasonPluginsNotSupported,
		"this version of BPA does not install KUD plugins yet; not installed: "+strings.Join(plugins, ", "))
}

// MarkStalled sets Stalled to True, and an empty reason takes it away. Ready does not change.
func (s *ProvisioningStatus) MarkStalled(reason, message string) {
	if reason == "" {
		_ = provisioningConditions.Manage(s).ClearCondition(ConditionStalled) // fails for conditions only that Ready stands for
		return
	}
	s.set(ConditionStalled, corev1.ConditionTrue, reason, message)
}

func (s *ProvisioningStatus) mark(t apis.ConditionType, status corev1.ConditionStatus, reason, message string) {
	s.set(t, status, reason, message)
	s.summarize()
}

// summarize makes Ready repeat the condition that matters most. knative's own summary takes the newest of the unhappy ones, which
// differs from visit to visit; this one depends on the conditions alone, so a steady world has a steady status.
func (s *ProvisioningStatus) summarize() {
	for _, bad := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown} {
		for _, t := range readyNeeds {
			c := s.GetCondition(t)
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

// set writes one condition unless it says the same already, so that its transition time stays.
func (s *ProvisioningStatus) set(t apis.ConditionType, status corev1.ConditionStatus, reason, message string) {
	provisioningConditions.Manage(s).SetCondition(apis.Condition{
		Type: t, Status: status, Severity: severities[t], Reason: reason, Message: message,
	})
}
