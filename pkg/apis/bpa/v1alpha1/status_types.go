package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// ProvisioningStatus is what was seen of the cluster. It holds facts, never commands.
type ProvisioningStatus struct {
	duckv1.Status `json:",inline"`

	// Run is the current or the last PipelineRun.
	Run *RunStatus `json:"run,omitempty"`
	// Progress of the current operation.
	Progress *ProgressStatus `json:"progress,omitempty"`
	// Nodes are the hosts that this Provisioning holds, in the order of the spec.
	Nodes []NodeStatus `json:"nodes,omitempty"`
	// APIEndpoint is the address of the new cluster's API server, such as https://10.60.0.11:6443.
	APIEndpoint string `json:"apiEndpoint,omitempty"`
	// Kubeconfig says where the new cluster's kubeconfig is.
	Kubeconfig *KubeconfigStatus `json:"kubeconfig,omitempty"`
	// InstalledDigest is the digest of the request that the running cluster was installed from; empty before.
	InstalledDigest string `json:"installedDigest,omitempty"`
	// Failure is set while the last attempt has failed and no newer one has started.
	Failure *FailureStatus `json:"failure,omitempty"`
}

// RunStatus is a PipelineRun of this cluster.
type RunStatus struct {
	// Name of the PipelineRun, in the same namespace.
	Name string `json:"name"`
	// Operation that it does, such as install.
	Operation string `json:"operation"`
	// Attempt counts from 1 for each wanted state.
	Attempt int32 `json:"attempt"`
	// StartTime of the PipelineRun.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// CompletionTime of the PipelineRun; absent while it runs.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// ProgressStatus tells how far the current operation is.
type ProgressStatus struct {
	// Percent of the whole operation, 0 to 100; it never goes back within one run.
	Percent int32 `json:"percent"`
	// Task of the pipeline that runs now, such as kubespray.
	Task string `json:"task,omitempty"`
	// Step is what that task does at the moment, such as the name of the Ansible task.
	Step string `json:"step,omitempty"`
	// Summary of both for a column: "64% kubespray".
	Summary string `json:"summary,omitempty"`
	// EstimatedEnd, from the pace so far; absent while that says nothing.
	EstimatedEnd *metav1.Time `json:"estimatedEnd,omitempty"`
}

// NodeState is what a node of the cluster is doing.
type NodeState string

const (
	// NodeClaimed means that the host is held and nothing was installed yet.
	NodeClaimed NodeState = "Claimed"
	// NodeInstalling means that a run works on the host.
	NodeInstalling NodeState = "Installing"
	// NodeReady means that the last run ended with the node Ready in the new cluster.
	NodeReady NodeState = "Ready"
	// NodeFailed means that the last run failed on this host.
	NodeFailed NodeState = "Failed"
	// NodeStandby means that the host is held to replace another.
	NodeStandby NodeState = "Standby"
	// NodeLost means that the host is gone, being deleted, in quarantine, or somebody else's.
	NodeLost NodeState = "Lost"
)

// NodeStatus is one node of the new cluster and the host that it runs on.
type NodeStatus struct {
	// Name of the node, as in the spec and in the inventory.
	Name string `json:"name"`
	// Roles: control-plane, worker or both.
	Roles []string `json:"roles"`
	// Host is the name of the BareMetalHost, in the same namespace.
	Host string `json:"host"`
	// Address by which the host is reached.
	Address string `json:"address,omitempty"`
	// NodeSet that the node belongs to, if it has one.
	NodeSet string `json:"nodeSet,omitempty"`
	// State of the node.
	State NodeState `json:"state,omitempty"`
	// Problem is what Metal3 or a person says against its host; empty: nothing.
	Problem string `json:"problem,omitempty"`
}

// KubeconfigStatus says where the new cluster's kubeconfig is.
type KubeconfigStatus struct {
	// SecretName is the Secret in the same namespace; its key "value" holds the kubeconfig, as Cluster API does it.
	SecretName string `json:"secretName"`
	// Expires is when the client certificate in it ends.
	Expires *metav1.Time `json:"expires,omitempty"`
}

// FailureStatus is why the last attempt failed.
type FailureStatus struct {
	// Reason from a closed set: the package contract lists it.
	Reason string `json:"reason"`
	// Task of the pipeline that failed, such as kubespray.
	Task string `json:"task,omitempty"`
	// Host (node name) on which it failed, if it was one.
	Host string `json:"host,omitempty"`
	// Step is the failing step, such as the name of the Ansible task.
	Step string `json:"step,omitempty"`
	// Message of the failure, cut to a readable length.
	Message string `json:"message,omitempty"`
	// Hint says what to do next.
	Hint string `json:"hint,omitempty"`
	// NextAttempt is when the controller tries again by itself, once what it waits for is there if the time is past; absent if a person
	// must act.
	NextAttempt *metav1.Time `json:"nextAttempt,omitempty"`
	// ObservedRetry is the value of the retry annotation that was already obeyed.
	ObservedRetry string `json:"observedRetry,omitempty"`
}
