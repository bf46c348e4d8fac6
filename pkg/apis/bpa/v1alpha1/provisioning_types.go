package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Provisioning requests one Kubernetes cluster on the site's bare-metal hosts. Its status shows the
// progress and the result.
//
// +genclient
// +genreconciler
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=provisionings,singular=provisioning,shortName=bpa,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.nodesReady`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.summary`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.apiEndpoint`
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.run.name`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Failure",type=string,JSONPath=`.status.failure.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Provisioning struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec describes the requested cluster.
	Spec ProvisioningSpec `json:"spec,omitempty"`
	// Status describes the observed cluster. Only the controller writes it, and `kubectl bpa adopt` its
	// clusterUID and installedDigest.
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

// ProvisioningSpec describes the requested cluster. Masters, workers, KUDPlugins and PodSubnet are
// fields of ICN's original.
type ProvisioningSpec struct {
	// Masters are the control plane nodes, as a list of maps with one key each. The key is the
	// node's name in the new cluster (a DNS label). Use an odd number, because etcd runs on these
	// nodes.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=1
	Masters []map[string]Master `json:"masters,omitempty"`
	// Workers are the other nodes, in the same shape as masters. If neither this list nor a node
	// set has workers, every control plane node is also a worker. A worker with a master's name is
	// that master in both roles. It must have the master's MAC address or none. The host of such a
	// node meets the requirements of both roles.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=1
	Workers []map[string]Worker `json:"workers,omitempty"`
	// NodeSets are further nodes, requested by number instead of by name. A cluster has at most
	// 1000 nodes in total.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodeSets []NodeSet `json:"nodeSets,omitempty"`
	// KUDPlugins are the names of the Kubernetes Deployment (KUD) plugins to install after the
	// cluster. `kubectl bpa plugins` lists them. The plugins that they need are installed too. A plugin
	// of the site, which the depot has as plugins/NAME, is named here and has a version in
	// spec.plugins. If a name is removed, the plugin is removed from the cluster.
	// +kubebuilder:validation:MaxItems=64
	KUDPlugins []string `json:"KUDPlugins,omitempty"`
	// Plugins are the versions and the parameters of plugins in KUDPlugins, by name. A plugin without
	// an entry has the version that is shipped with BPA, and the defaults of its parameters. All
	// parameters together have at most 64 KiB.
	// +kubebuilder:validation:MaxProperties=64
	Plugins map[string]PluginSpec `json:"plugins,omitempty"`
	// PodSubnet is the range of pod addresses of the new cluster, as a CIDR; for a cluster with both address
	// families the IPv4 range, a comma and the IPv6 range. Default 10.233.64.0/18.
	// +kubebuilder:validation:Pattern=`^$|^[0-9.]+/[0-9]{1,2}(,[0-9A-Fa-f:]+/[0-9]{1,3})?$`
	PodSubnet string `json:"PodSubnet,omitempty"`

	// HostNamespace is the namespace of the hosts, if administrators keep them apart from Provisionings. A
	// HostDeployPolicy of Metal3 in that namespace must grant the hosts to the namespace of the
	// Provisioning. The field cannot be changed. Default: the namespace of the Provisioning.
	// +kubebuilder:validation:MaxLength=63
	HostNamespace string `json:"hostNamespace,omitempty"`
	// OSImage is the operating system image for chosen hosts that have no operating system yet. If
	// it is not set, only hosts with an operating system can be chosen.
	OSImage *OSImageSpec `json:"osImage,omitempty"`
	// OperatingSystem is the operating system of the hosts, such as ubuntu-24.04. It is
	// ID-VERSION_ID from their /etc/os-release. If it is set, BPA checks that the depot has the
	// required packages before it claims a host, and it rejects hosts with another operating
	// system. If it is empty, packages are not checked.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^$|^[a-z][a-z0-9._]*(-[a-z0-9._]+)*-[0-9][a-z0-9.]*$`
	OperatingSystem string `json:"operatingSystem,omitempty"`
	// Access selects the address at which BPA and the other nodes reach a node.
	Access AccessSpec `json:"access,omitempty"`
	// Kubernetes selects the Kubernetes version and its network.
	Kubernetes KubernetesSpec `json:"kubernetes,omitempty"`
	// Kubespray holds settings that are passed to kubespray unchanged.
	Kubespray KubespraySpec `json:"kubespray,omitempty"`
	// SSH describes how BPA logs in to the hosts.
	SSH SSHSpec `json:"ssh,omitempty"`
	// Depot is the store from which the nodes download binaries and images.
	Depot DepotSpec `json:"depot,omitempty"`
	// Checks switches off checks of the hosts that are to become nodes. Before a run changes them, it looks for what would make
	// the installation fail, and then ends with the reason PreflightFailed.
	// +optional
	Checks ChecksSpec `json:"checks,omitzero"`
	// Timeouts limit the operations on the cluster.
	Timeouts TimeoutsSpec `json:"timeouts,omitempty"`
	// Upgrade describes how an installed cluster gets another Kubernetes version, another kubespray
	// release or other kubespray variables.
	Upgrade UpgradeSpec `json:"upgrade,omitempty"`
	// DeletionPolicy selects what happens to the hosts when the Provisioning is deleted. With Reset,
	// BPA removes the cluster from them before it releases them. With Retain, BPA releases them as
	// they are. A host that still contains a cluster carries the annotation
	// bpa.akraino.org/used-by, and no other Provisioning can claim it before it is reset or receives
	// a new OS image. The policy can also be changed while a deletion waits. Default Reset.
	// +kubebuilder:validation:Enum=Reset;Retain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// ReplacePolicy selects which hosts may replace the lost host of an installed node without a
	// user's request. With Standby, only a standby host of the node's set. With Any, also any free
	// host that meets the node's requirements. With Never, none. A host is lost if its
	// BareMetalHost is deleted, is in quarantine, was wiped by Metal3, or was claimed by another
	// consumer. Default Standby.
	// +kubebuilder:validation:Enum=Standby;Any;Never
	ReplacePolicy ReplacePolicy `json:"replacePolicy,omitempty"`
	// Backup makes the controller back up the installed cluster at the times of a schedule. If it is not
	// set, only users create Backups.
	Backup *BackupPolicy `json:"backup,omitempty"`
	// Priority orders the clusters that wait because the site limits the number of runs at a time
	// (max-runs in ConfigMap config-bpa): the highest first, and among equals the one that has
	// waited longest. Default 0.
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	Priority int32 `json:"priority,omitempty"`
	// Paused stops the controller from starting new work for this cluster. A run that is active
	// continues.
	Paused bool `json:"paused,omitempty"`
}

// MaxNameLength is the maximum length of a Provisioning's name. The names of Secrets, runs and
// service accounts, and label values (at most 63 bytes), consist of this name and a suffix.
const MaxNameLength = 40

// AnnotationRestore requests a restore of the cluster from a Backup: see contract.AnnotationRestore.
const AnnotationRestore = "bpa.akraino.org/restore"

// HostNamespace returns the namespace of the hosts.
func (p *Provisioning) HostNamespace() string { return cmp.Or(p.Spec.HostNamespace, p.Namespace) }
