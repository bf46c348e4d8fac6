package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Master describes a control plane node: either a certain host by its MAC address, or any host that
// meets the requirements.
type Master struct {
	// MACAddress is any MAC address of the requested host, with colons or dashes, in upper or lower
	// case. An empty value is an error: a template with a missing value must not request "any
	// host".
	MACAddress       *MAC `json:"mac-address,omitempty"`
	HostRequirements `json:",inline"`
	NodeMetadata     `json:",inline"`
	NodeVars         `json:",inline"`
}

// Worker describes a worker node.
type Worker struct {
	// MACAddress is any MAC address of the requested host. It may be empty if the worker has a
	// master's name.
	MACAddress       *MAC `json:"mac-address,omitempty"`
	HostRequirements `json:",inline"`
	NodeMetadata     `json:",inline"`
	NodeVars         `json:",inline"`
}

// NodeRole is the role of the nodes of a set.
type NodeRole string

const (
	// RoleControlPlane nodes run the control plane and etcd.
	RoleControlPlane NodeRole = "control-plane"
	// RoleWorker nodes run the pods of the cluster's users.
	RoleWorker NodeRole = "worker"
	// RoleControlPlaneWorker nodes have both roles.
	RoleControlPlaneWorker NodeRole = "control-plane-worker"
)

// NodeSet is a number of similar nodes. The nodes are named after the set: NAME-1, NAME-2 and so
// on. A node keeps its name as long as it keeps its host. A set without requirements accepts any
// host.
type NodeSet struct {
	// Name is the name of the set, a DNS label of at most 58 characters. Masters and workers must
	// not use the names NAME-1, NAME-2 and so on.
	Name string `json:"name"`
	// Role is the role of the nodes: control-plane, worker, or control-plane-worker for both.
	// Default worker.
	// +kubebuilder:validation:Enum=control-plane;worker;control-plane-worker
	Role NodeRole `json:"role,omitempty"`
	// Count is the number of active nodes and of standby nodes. A set must have at least one node.
	// +optional
	Count            NodeCount `json:"count"`
	HostRequirements `json:",inline"`
	NodeMetadata     `json:",inline"`
	NodeVars         `json:",inline"`
	// TopologyKey is a host label, such as airshipit.org/rack. The nodes are spread over its
	// values. If it is empty, the nodes are not spread.
	TopologyKey string `json:"topologyKey,omitempty"`
	// MaxSkew limits how unevenly the nodes are spread over the values of topologyKey. It is the
	// largest allowed difference between the number of nodes at the value with the most nodes and
	// the number at the value with the fewest. Active and standby nodes both count. Values without
	// a host for the set do not count. MaxSkew requires topologyKey. Default 1.
	// +kubebuilder:validation:Minimum=0
	MaxSkew int32 `json:"maxSkew,omitempty"`
	// WhenUnsatisfiable has the meaning of the same field in a pod's topologySpreadConstraints.
	// With DoNotSchedule, the cluster waits until the nodes can be spread, and hosts without the
	// label are never chosen. With ScheduleAnyway, the nodes are spread unevenly if necessary, and
	// hosts without the label are the last choice. It requires topologyKey. Default DoNotSchedule.
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// NodeCount is the number of nodes of a set.
type NodeCount struct {
	// Active is the number of nodes that are installed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Active int32 `json:"active"`
	// Standby is the number of spare hosts. They are claimed and labelled, but not installed. A
	// standby host replaces an active node whose host is lost.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Standby int32 `json:"standby,omitempty"`
}

// NodeMetadata is what BPA sets on the Node objects of the cluster, and keeps in step: a change needs no run. Labels,
// annotations and taints that others set stay. What is removed here is removed from the Nodes, unless somebody has given
// it another value there. The labels that a site derives from the labels of its hosts (node-labels in ConfigMap
// config-bpa) are set too; a label here wins.
type NodeMetadata struct {
	// Labels are labels of the Node.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are annotations of the Node.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Taints are taints of the Node. A node set of which every node has one of effect NoSchedule or NoExecute runs only
	// pods that tolerate it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Taints []NodeTaint `json:"taints,omitempty"`
}

// NodeVars are variables of kubespray for one node, or for each node of a set.
type NodeVars struct {
	// Vars are kubespray variables with any JSON values. They override those of spec.kubespray for these nodes. A
	// mapping is replaced and not merged. A change drains and configures these nodes, as spec.upgrade describes, and
	// no others. Variables that all nodes of a cluster must share are refused; docs/day-one.md says which.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Vars map[string]apiextensionsv1.JSON `json:"vars,omitempty"`
}

// NodeTaint is a taint of a Node. A Node has at most one of each key and effect.
type NodeTaint struct {
	// Key is the key, such as dedicated or example.org/gpu.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// Value is the value. Default: empty.
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`
	// Effect is what happens to pods that do not tolerate the taint. NoExecute also evicts those that run.
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`
}

// HostRequirements are the requirements that a host must meet. A missing field requires nothing. If
// Metal3 has not found a property of a host, the host meets no requirement on this property. A
// pattern must match the whole value, without regard to case; * matches any characters and ?
// matches one character.
type HostRequirements struct {
	// CPU is the minimum number of CPU threads.
	CPU int32 `json:"cpu,omitempty"`
	// Memory is the minimum memory, as a quantity such as 64Gi.
	// +kubebuilder:validation:Pattern=`^$|^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`
	Memory string `json:"memory,omitempty"`
	// SRIOV requires a network card with SR-IOV. The card's model must be known to support it,
	// unless the host's label bpa.akraino.org/sriov is true or false.
	SRIOV bool `json:"sriov,omitempty"`
	// QAT requires Intel QuickAssist. The host's label bpa.akraino.org/qat must be true.
	QAT bool `json:"qat,omitempty"`
	// Selector selects BareMetalHosts by their labels.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Architecture is the CPU architecture, in the notation of Metal3 (x86_64, aarch64) or of Go
	// (amd64, arm64).
	Architecture string `json:"architecture,omitempty"`
	// CPUModel is a pattern for the CPU model, such as "Intel*Xeon*Gold 6*".
	CPUModel string `json:"cpuModel,omitempty"`
	// CPUFlags are flags that the CPU must all have, such as avx512f.
	// +kubebuilder:validation:MaxItems=64
	CPUFlags []string `json:"cpuFlags,omitempty"`
	// CPUClockMHz is the minimum clock rate, in MHz.
	CPUClockMHz int32 `json:"cpuClockMHz,omitempty"`
	// Disks are the disks that the host must have. One disk satisfies one item only, so the host has
	// at least as many disks as all items together.
	// +kubebuilder:validation:MaxItems=16
	Disks []DiskRequirement `json:"disks,omitempty"`
	// NICs are the network cards that the host must have. One card satisfies one item only. A card
	// with two addresses counts once.
	// +kubebuilder:validation:MaxItems=16
	NICs []NICRequirement `json:"nics,omitempty"`
	// System is the manufacturer and the product of the host.
	System *SystemRequirement `json:"system,omitempty"`
	// Firmware is the BIOS of the host.
	Firmware *FirmwareRequirement `json:"firmware,omitempty"`
}

// DiskRequirement requires a number of disks.
type DiskRequirement struct {
	// Count is the minimum number of such disks. Default 1.
	Count int32 `json:"count,omitempty"`
	// MinSize is the minimum size of each disk, as a quantity such as 960G.
	// +kubebuilder:validation:Pattern=`^$|^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`
	MinSize string `json:"minSize,omitempty"`
	// Type is the type of each disk: HDD, SSD or NVME, in upper or lower case.
	// +kubebuilder:validation:Pattern=`^$|^([Hh][Dd][Dd]|[Ss][Ss][Dd]|[Nn][Vv][Mm][Ee])$`
	Type string `json:"type,omitempty"`
}

// NICRequirement requires a number of network cards.
type NICRequirement struct {
	// Count is the minimum number of such cards. Default 1.
	Count int32 `json:"count,omitempty"`
	// MinSpeedGbps is the minimum speed of each card, in Gbit/s.
	MinSpeedGbps int32 `json:"minSpeedGbps,omitempty"`
	// Model is a pattern for the PCI vendor and device in the notation of Metal3, such as "0x8086
	// 0x158b".
	Model string `json:"model,omitempty"`
	// SRIOV requires that the model of each card is known to support SR-IOV.
	SRIOV bool `json:"sriov,omitempty"`
}

// SystemRequirement describes the manufacturer and the product of a host.
type SystemRequirement struct {
	// Vendor is a pattern for the manufacturer, such as "Dell*".
	Vendor string `json:"vendor,omitempty"`
	// Product is a pattern for the product name, such as "PowerEdge R7?0*".
	Product string `json:"product,omitempty"`
}

// FirmwareRequirement describes the BIOS of a host.
type FirmwareRequirement struct {
	// Vendor is a pattern for the vendor of the BIOS.
	Vendor string `json:"vendor,omitempty"`
	// Version is a pattern for the version of the BIOS, such as "2.1*".
	Version string `json:"version,omitempty"`
	// Date is a pattern for the date of the BIOS, such as "*/2024". The date format depends on the
	// vendor.
	Date string `json:"date,omitempty"`
}
