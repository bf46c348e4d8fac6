package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// Software are packages that BPA installs on the nodes of one cluster. A user who can write a Software of a
// cluster has root's rights on its nodes. Several Softwares of one cluster are merged. A package that two of them
// request with different versions is not changed until they agree.
//
// +genclient
// +genreconciler
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=softwares,singular=software,shortName=sw,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.status.cluster`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Software struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec lists the packages.
	Spec SoftwareSpec `json:"spec"`
	// Status describes the packages of the nodes. Only the controller writes it.
	Status SoftwareStatus `json:"status,omitempty"`
}

// SoftwareList is a list of Softwares.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type SoftwareList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Software `json:"items"`
}

// SoftwareSpec lists the packages of the nodes of a cluster.
type SoftwareSpec struct {
	// Cluster is the name of the Provisioning of the cluster, in the same namespace, or its label "cluster". The
	// name counts more. Default: the Software's own label "cluster".
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`
	// MasterSoftware are the packages of the control plane nodes.
	// +kubebuilder:validation:MaxItems=200
	MasterSoftware []SoftwareEntry `json:"masterSoftware,omitempty"`
	// WorkerSoftware are the packages of the workers. A node with both roles gets both lists.
	// +kubebuilder:validation:MaxItems=200
	WorkerSoftware []SoftwareEntry `json:"workerSoftware,omitempty"`
	// AutoUpdate installs a newer version when it is uploaded to the depot, for the packages without a
	// version. If it is false, the status reports them as Outdated. Default true.
	AutoUpdate *bool `json:"autoUpdate,omitempty"`
}

// SoftwareEntry is a package: its name, or an object with the name as its only key, such as
// `curl` or `{curl: {version: "8.5.0-2"}}`.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XPreserveUnknownFields
type SoftwareEntry struct {
	Name            string `json:"-"`
	SoftwareOptions `json:"-"`
	// Invalid is the entry as it was written, in JSON, if it is neither notation. It is kept, because one
	// such entry must not make all Softwares of the site unreadable. Validate rejects it. Name is set then if
	// the entry has one, so that the package stays as it is.
	Invalid string `json:"-"`
}

// SoftwareOptions are the options of a package.
type SoftwareOptions struct {
	// Version is the version to install, as the package has it. Default: the newest in the depot.
	Version string `json:"version,omitempty"`
	// Disruption is what a node does when the package is installed, updated or removed: None, Drain or
	// Reboot. Reboot drains the node before. Default None.
	Disruption string `json:"disruption,omitempty"`
}

// SoftwareStatus describes the packages of the nodes.
type SoftwareStatus struct {
	duckv1.Status `json:",inline"`

	// Cluster is the name of the Provisioning of the cluster.
	Cluster string `json:"cluster,omitempty"`
	// Summary is the number of the packages that are installed and the number of all, such as "5/6". Each
	// package counts once for each node.
	Summary string `json:"summary,omitempty"`
	// Installed, Failed and Total count the packages, once for each node.
	Installed int32 `json:"installed,omitempty"`
	Failed    int32 `json:"failed,omitempty"`
	Total     int32 `json:"total,omitempty"`
	// Omitted is the number of packages, once for each node, that Nodes does not have, because the status would
	// be too long: installed ones first. The counts have them.
	Omitted int32 `json:"omitted,omitempty"`
	// Nodes are the nodes with packages of this Software, sorted by name.
	Nodes []SoftwareNodeStatus `json:"nodes,omitempty"`
}

// SoftwareNodeStatus describes the packages of one node.
type SoftwareNodeStatus struct {
	// Name is the name of the node.
	Name string `json:"name"`
	// Checked is when BPA has last read which packages the node has.
	Checked *metav1.Time `json:"checked,omitempty"`
	// Message says why the node could not be read or changed.
	Message string `json:"message,omitempty"`
	// Packages are the packages that this Software requests, and those that are being removed.
	Packages []SoftwarePackageStatus `json:"packages,omitempty"`
}

// SoftwarePackageStatus describes one package on one node.
type SoftwarePackageStatus struct {
	Name string `json:"name"`
	// Wanted is the version to be installed; empty: the newest that the node finds.
	Wanted string `json:"wanted,omitempty"`
	// Installed is the version that the node has; empty: none.
	Installed string `json:"installed,omitempty"`
	// State is Pending, Installing, Installed, Failed, Removing, Drifted or Outdated. Drifted means that
	// somebody else has changed the package. Outdated means that the depot has a newer version, and that
	// autoUpdate is false.
	State string `json:"state"`
	// Since is the time of the last change.
	Since *metav1.Time `json:"since,omitempty"`
	// Message is the cause of a failure, with the last lines of output.
	Message string `json:"message,omitempty"`
}
