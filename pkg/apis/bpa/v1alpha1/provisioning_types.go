package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// Provisioning asks for one Kubernetes cluster on the site's bare-metal hosts, and its status tells how far that is.
//
// +genclient
// +genreconciler
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=provisionings,singular=provisioning,shortName=bpa,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.summary`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.apiEndpoint`
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.run.name`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Provisioning struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the cluster that is wanted.
	Spec ProvisioningSpec `json:"spec,omitempty"`
	// Status is what was seen of it; written by the controller alone.
	Status ProvisioningStatus `json:"status,omitempty"`
}

// ProvisioningList is a list of Provisionings.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type ProvisioningList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Provisioning `json:"items"`
}

// ProvisioningSpec is the cluster that is wanted. The first four fields are ICN's.
type ProvisioningSpec struct {
	// Masters are the control plane nodes: a list of maps with one key each, the node's name in the new cluster (a DNS label).
	// An odd number is wanted, since etcd runs on them.
	// +kubebuilder:validation:MaxItems=1000
	Masters []map[string]Master `json:"masters,omitempty"`
	// Workers are the other nodes, in the same shape. With none, every master is also a worker. A worker with a master's name
	// and the same MAC address or none is that master in both roles.
	// +kubebuilder:validation:MaxItems=1000
	Workers []map[string]Worker `json:"workers,omitempty"`
	// KUDPlugins are the Kubernetes Deployment (KUD) plugins to install once the cluster runs, by name.
	KUDPlugins []string `json:"KUDPlugins,omitempty"`
	// PodSubnet is the range of pod addresses of the new cluster, as a CIDR. Default 10.233.64.0/18.
	PodSubnet string `json:"PodSubnet,omitempty"`

	// Kubernetes says which Kubernetes is installed and how its network looks.
	Kubernetes KubernetesSpec `json:"kubernetes,omitempty"`
	// Kubespray holds settings that go to kubespray as they are.
	Kubespray KubespraySpec `json:"kubespray,omitempty"`
	// SSH says how the hosts are reached.
	SSH SSHSpec `json:"ssh,omitempty"`
	// Depot says where the nodes get binaries and images.
	Depot DepotSpec `json:"depot,omitempty"`
	// Timeouts bound the operations on the cluster.
	Timeouts TimeoutsSpec `json:"timeouts,omitempty"`
	// Paused keeps the controller from starting anything new for this cluster. What runs goes on.
	Paused bool `json:"paused,omitempty"`
}

// Master is what a control plane node needs: a certain host by its MAC address, or any host with at least these resources.
type Master struct {
	// MACAddress is any MAC address of the wanted host, with colons or dashes, upper or lower case.
	// Written but empty is an error, so that a template with a missing value does not turn into "any host".
	MACAddress *MAC `json:"mac-address,omitempty"`
	// CPU is the least number of CPU threads that the host must have.
	CPU int32 `json:"cpu,omitempty"`
	// Memory is the least memory that the host must have, as a quantity such as 16Gi.
	Memory string `json:"memory,omitempty"`
}

// Worker is what a worker node needs.
type Worker struct {
	// MACAddress is any MAC address of the wanted host. It may be empty if the worker has a master's name.
	MACAddress *MAC `json:"mac-address,omitempty"`
	// CPU is the least number of CPU threads that the host must have.
	CPU int32 `json:"cpu,omitempty"`
	// Memory is the least memory that the host must have, as a quantity such as 64Gi.
	Memory string `json:"memory,omitempty"`
	// SRIOV asks for a host with an SR-IOV capable NIC, labelled bpa.akraino.org/sriov=true.
	SRIOV bool `json:"sriov,omitempty"`
	// QAT asks for a host with Intel QuickAssist, labelled bpa.akraino.org/qat=true.
	QAT bool `json:"qat,omitempty"`
}

// KubernetesSpec says which Kubernetes is installed and how its network looks.
type KubernetesSpec struct {
	// Version is the Kubernetes version, such as 1.35.4. The depot must hold its binaries and images.
	Version string `json:"version,omitempty"`
	// ServiceSubnet is the range of service addresses, as a CIDR. Default 10.233.0.0/18.
	ServiceSubnet string `json:"serviceSubnet,omitempty"`
	// NetworkPlugin is kubespray's kube_network_plugin. Default flannel.
	// +kubebuilder:validation:Enum=calico;cilium;cni;custom_cni;flannel;kube-ovn;kube-router;macvlan;none
	NetworkPlugin string `json:"networkPlugin,omitempty"`
}

// KubespraySpec holds settings that go to kubespray as they are.
type KubespraySpec struct {
	// Vars are kubespray variables, merged last over everything that BPA renders. Values are any JSON. Ansible reads texts in them
	// as templates, so whoever may write a Provisioning may run commands in the task that runs kubespray.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Vars map[string]apiextensionsv1.JSON `json:"vars,omitempty"`
}

// SSHSpec says how the hosts are reached.
type SSHSpec struct {
	// User logs in; it must be root or able to sudo without a password. Default root.
	User string `json:"user,omitempty"`
	// Port of the SSH server. Default 22.
	Port int32 `json:"port,omitempty"`
	// SecretName is a Secret of type kubernetes.io/ssh-auth in the same namespace with the private key in
	// ssh-privatekey. Default ssh-key.
	SecretName string `json:"secretName,omitempty"`
}

// DepotSpec says where the nodes get binaries and images.
type DepotSpec struct {
	// URL of the site's store, such as http://10.60.0.1:5000, as the nodes reach it. Empty means the controller's own setting
	// (key depot-url of ConfigMap config-bpa), and if that is empty too, kubespray's own Internet addresses.
	URL string `json:"url,omitempty"`
}

// TimeoutsSpec bounds the operations on the cluster.
type TimeoutsSpec struct {
	// Install bounds one attempt to install the cluster. Default 2h.
	Install *metav1.Duration `json:"install,omitempty"`
}

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
	// StartTime and CompletionTime of the PipelineRun.
	StartTime      *metav1.Time `json:"startTime,omitempty"`
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
	// State of the node.
	State NodeState `json:"state,omitempty"`
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
	// NextAttempt is when the controller tries again by itself; absent if a person must act.
	NextAttempt *metav1.Time `json:"nextAttempt,omitempty"`
	// ObservedRetry is the value of the retry annotation that was already obeyed.
	ObservedRetry string `json:"observedRetry,omitempty"`
}
