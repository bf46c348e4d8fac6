package v1alpha1

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
	"knative.dev/pkg/kmeta"
)

var (
	_ duckv1.KRShaped    = (*Provisioning)(nil)
	_ kmeta.OwnerRefable = (*Provisioning)(nil)
)

// said returns the conditions of a status without their times.
func said(s *ProvisioningStatus) map[string]string {
	out := map[string]string{}
	for _, c := range s.Conditions {
		out[string(c.Type)] = string(c.Status) + " " + c.Reason + " " + c.Message
	}
	return out
}

func TestEveryConditionExistsFromTheFirstVisit(t *testing.T) {
	var s ProvisioningStatus
	s.InitializeConditions()
	want := map[string]string{
		"Ready":              "Unknown Waiting ",
		"HostsClaimed":       "Unknown Waiting ",
		"ArtifactsAvailable": "Unknown Waiting ",
		"ClusterInstalled":   "Unknown Waiting ",
		"KubeconfigReady":    "Unknown Waiting ",
		"ClusterHealthy":     "Unknown NotChecked ",
		"CertificatesValid":  "Unknown Waiting ",
		"PluginsInstalled":   "True NoPlugins spec.KUDPlugins is empty",
		"HostsHealthy":       "Unknown Waiting ",
	}
	if diff := cmp.Diff(want, said(&s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before := s.DeepCopy()
	s.InitializeConditions()
	if diff := cmp.Diff(before, &s); diff != "" {
		t.Errorf("initializing again changed something (-want +got):\n%s", diff)
	}
}

func TestReadyFollowsTheFirstUnhappyCondition(t *testing.T) {
	type mark func(*ProvisioningStatus)
	hosts := func(st corev1.ConditionStatus, reason, message string) mark {
		return func(s *ProvisioningStatus) { s.MarkHostsClaimed(st, reason, message) }
	}
	plugins := func(st corev1.ConditionStatus, reason, message string) mark {
		return func(s *ProvisioningStatus) { s.MarkPluginsInstalled(st, reason, message) }
	}
	artifacts := func(st corev1.ConditionStatus, reason, message string) mark {
		return func(s *ProvisioningStatus) { s.MarkArtifactsAvailable(st, reason, message) }
	}
	cluster := func(st corev1.ConditionStatus, reason, message string) mark {
		return func(s *ProvisioningStatus) { s.MarkClusterInstalled(st, reason, message) }
	}
	kubeconfig := func(st corev1.ConditionStatus, reason, message string) mark {
		return func(s *ProvisioningStatus) { s.MarkKubeconfigReady(st, reason, message) }
	}
	healthy := func(st corev1.ConditionStatus, reason, message string) mark {
		return func(s *ProvisioningStatus) { s.MarkClusterHealthy(st, reason, message) }
	}
	installed := []mark{kubeconfig("True", "", ""), cluster("True", "", ""), artifacts("True", "", ""), hosts("True", "", "")}
	for _, r := range []struct {
		name  string
		marks []mark
		want  string
	}{
		{"nothing has looked at it yet", append(slices.Clone(installed), healthy("Unknown", "NotChecked", "no credentials")), "True  "},
		{"a node is not Ready", append(slices.Clone(installed), healthy("False", "NodesNotReady", "worker-1")), "False NodesNotReady worker-1"},
		{"the API server is silent", append(slices.Clone(installed), healthy("Unknown", "APIUnavailable", "since 9")), "Unknown APIUnavailable since 9"},
		{"a run outweighs a silent API server", append(slices.Clone(installed), healthy("Unknown", "APIUnavailable", "since 9"), cluster("Unknown", "Running", "64%")), "Unknown Running 64%"},
		{"a lost host outweighs a node", append(slices.Clone(installed), healthy("False", "NodesNotReady", "worker-1"), hosts("False", "HostsLost", "host-1")), "False HostsLost host-1"},
		{"nor do certificates", append(slices.Clone(installed), func(s *ProvisioningStatus) { s.MarkCertificatesValid("False", "CertificatesExpireSoon", "soon") }), "True  "},
		{"first visit", nil, "Unknown Waiting "},
		{"hosts claimed", []mark{hosts("True", "Claimed", "")}, "Unknown Waiting "},
		{"artifacts missing", []mark{artifacts("False", "ArtifactsMissing", "2 of 22")}, "False ArtifactsMissing 2 of 22"},
		{"running", []mark{artifacts("True", "", ""), hosts("True", "Claimed", ""), cluster("Unknown", "Running", "64% kubespray")}, "Unknown Running 64% kubespray"},
		{"failed outweighs unknown before it", []mark{hosts("Unknown", "Looking", ""), cluster("False", "PlaybookFailed", "100%d of it")}, "False PlaybookFailed 100%d of it"},
		{"earlier failure outweighs later", []mark{kubeconfig("False", "Expired", "old"), hosts("False", "HostsNotAvailable", "none")}, "False HostsNotAvailable none"},
		{"all well", []mark{kubeconfig("True", "", ""), cluster("True", "", ""), artifacts("True", "", ""), hosts("True", "", "")}, "True  "},
		{"well, then not", []mark{kubeconfig("True", "", ""), cluster("True", "", ""), artifacts("True", "", ""), hosts("True", "", ""), kubeconfig("False", "Expired", "gone")}, "False Expired gone"},
		{"a failed plugin matters", append(slices.Clone(installed), plugins("False", "PluginFailed", "qat")), "False PluginFailed qat"},
		{"plugins are installed", append(slices.Clone(installed), plugins("Unknown", "Running", "multus")), "Unknown Running multus"},
		{"nor does a host in trouble", []mark{kubeconfig("True", "", ""), cluster("True", "", ""), artifacts("True", "", ""), hosts("True", "", ""),
			func(s *ProvisioningStatus) { s.MarkHostsHealthy("False", "HostProblems", "worker-1: no power") }}, "True  "},
	} {
		t.Run(r.name, func(t *testing.T) {
			var s ProvisioningStatus
			s.InitializeConditions()
			for _, m := range r.marks {
				m(&s)
			}
			if got := said(&s)["Ready"]; got != r.want {
				t.Errorf("Ready is %q, want %q", got, r.want)
			}
			if s.IsReady() != (r.want == "True  ") {
				t.Errorf("IsReady is %v", s.IsReady())
			}
			// A cluster that is only unhealthy waits for nothing.
			if only := s.GetCondition(ConditionReady).Reason; s.NeedsNothing() != (s.IsReady() || only == ReasonNodesNotReady || only == ReasonAPIUnavailable) {
				t.Errorf("NeedsNothing is %v, and Ready %s", s.NeedsNothing(), r.want)
			}
		})
	}
}

// Marking a condition with the same values changes nothing, not even a time. Therefore, an
// unchanged cluster has no status updates.
func TestMarkingTheSameAgainChangesNothing(t *testing.T) {
	var s ProvisioningStatus
	again := func() {
		s.InitializeConditions()
		s.MarkHostsClaimed(corev1.ConditionTrue, "Claimed", "3 hosts")
		s.MarkClusterInstalled(corev1.ConditionUnknown, "Running", "64% kubespray")
		s.MarkPluginsInstalled(corev1.ConditionTrue, "Installed", "2 installed")
	}
	again()
	before := s.DeepCopy()
	again()
	if diff := cmp.Diff(before, &s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The severity must be explicit, because knative treats a condition without a severity as an error.
func TestHostsInTroubleAreAWarning(t *testing.T) {
	var s ProvisioningStatus
	s.MarkHostsHealthy(corev1.ConditionFalse, "HostProblems", "worker-1: host-2 is paused")
	want := &apis.Condition{Type: ConditionHostsHealthy, Status: corev1.ConditionFalse, Severity: apis.ConditionSeverityWarning,
		Reason: "HostProblems", Message: "worker-1: host-2 is paused"}
	got := s.GetCondition(ConditionHostsHealthy)
	want.LastTransitionTime = got.LastTransitionTime
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
