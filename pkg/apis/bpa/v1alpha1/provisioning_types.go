package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// ProvisioningSpec is the cluster that is wanted. Masters, workers, KUDPlugins and PodSubnet are ICN's.
type ProvisioningSpec struct {
	// Masters are the control plane nodes: a list of maps with one key each, the node's name in the new cluster (a DNS label).
	// An odd number is wanted, since etcd runs on them.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=1
	Masters []map[string]Master `json:"masters,omitempty"`
	// Workers are the other nodes, in the same shape. With none here and none in the node sets, every control plane node is also a
	// worker. A worker with a master's name and the same MAC address or none is that master in both roles, and its host has what both
	// ask for.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=1
	Workers []map[string]Worker `json:"workers,omitempty"`
	// NodeSets are further nodes, by number instead of by name. All nodes together are at most 1000.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodeSets []NodeSet `json:"nodeSets,omitempty"`
	// KUDPlugins are the Kubernetes Deployment (KUD) plugins to install once the cluster runs, by name.
	KUDPlugins []string `json:"KUDPlugins,omitempty"`
	// PodSubnet is the range of pod addresses of the new cluster, as a CIDR. Default 10.233.64.0/18.
	// +kubebuilder:validation:Pattern=`^$|^[0-9.]+/[0-9]{1,2}$`
	PodSubnet string `json:"PodSubnet,omitempty"`

	// OSImage is put on chosen hosts that have no operating system yet. Without it only hosts that have one can be chosen.
	OSImage *OSImageSpec `json:"osImage,omitempty"`
	// OperatingSystem is what the hosts run: ID and VERSION_ID of their /etc/os-release with a dash between, such as ubuntu-24.04. With it the packages
	// that the installation needs are looked for in the depot before any host is claimed, and hosts that run something else are refused. Without it
	// packages are not looked at.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^$|^[a-z][a-z0-9._]*(-[a-z0-9._]+)*-[0-9][a-z0-9.]*$`
	OperatingSystem string `json:"operatingSystem,omitempty"`
	// Access says by which of their addresses the nodes are reached.
	Access AccessSpec `json:"access,omitempty"`
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
