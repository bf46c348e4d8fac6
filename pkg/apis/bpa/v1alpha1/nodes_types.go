package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Master is what a control plane node needs: a certain host by its MAC address, or any host that has what it asks for.
type Master struct {
	// MACAddress is any MAC address of the wanted host, with colons or dashes, upper or lower case.
	// Written but empty is an error, so that a template with a missing value does not turn into "any host".
	MACAddress       *MAC `json:"mac-address,omitempty"`
	HostRequirements `json:",inline"`
}

// Worker is what a worker node needs.
type Worker struct {
	// MACAddress is any MAC address of the wanted host. It may be empty if the worker has a master's name.
	MACAddress       *MAC `json:"mac-address,omitempty"`
	HostRequirements `json:",inline"`
}

// NodeRole is what the nodes of a set do.
type NodeRole string

const (
	RoleControlPlane NodeRole = "control-plane"
	RoleWorker       NodeRole = "worker"
	// RoleControlPlaneWorker is both.
	RoleControlPlaneWorker NodeRole = "control-plane-worker"
)

// NodeSet is a number of nodes that are alike. They are named after the set: NAME-1, NAME-2 and so on; a node keeps its name as long as it keeps
// its host. A set that asks for nothing takes any hosts.
type NodeSet struct {
	// Name of the set, a DNS label of at most 58 characters. No master or worker may have a name that the set could give: NAME-1 and so on.
	Name string `json:"name"`
	// Role of its nodes: control-plane, worker, or control-plane-worker for both. Default worker.
	// +kubebuilder:validation:Enum=control-plane;worker;control-plane-worker
	Role NodeRole `json:"role,omitempty"`
	// Count of the nodes, at least one.
	Count            NodeCount `json:"count"`
	HostRequirements `json:",inline"`
	// TopologyKey is a label of the hosts, such as airshipit.org/rack, over whose values the nodes are spread. Without it nothing is spread.
	TopologyKey string `json:"topologyKey,omitempty"`
	// MaxSkew is by how many nodes, active and standby, the fullest value of the topology key may exceed the emptiest one that has hosts
	// for the set. Only with a topologyKey; default 1.
	// +kubebuilder:validation:Minimum=0
	MaxSkew int32 `json:"maxSkew,omitempty"`
	// WhenUnsatisfiable, as in a pod's topologySpreadConstraints: DoNotSchedule rather waits, ScheduleAnyway rather spreads unevenly. A host
	// without the label is never chosen with the first and only if need be with the second. Only with a topologyKey; default DoNotSchedule.
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// NodeCount is how many nodes a set has.
type NodeCount struct {
	// Active nodes are installed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Active int32 `json:"active"`
	// Standby hosts are claimed and labelled, and not installed: one takes the place of an active node whose host is lost.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Standby int32 `json:"standby,omitempty"`
}

// HostRequirements are what a host must have. What is left out asks for nothing. A fact that Metal3 has not found meets no requirement.
// Patterns match the whole text, whatever its case, with * for any characters and ? for one.
type HostRequirements struct {
	// CPU is the least number of CPU threads.
	CPU int32 `json:"cpu,omitempty"`
	// Memory is the least memory, as a quantity such as 64Gi.
	// +kubebuilder:validation:Pattern=`^$|^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`
	Memory string `json:"memory,omitempty"`
	// SRIOV asks for a network card with SR-IOV: of a model that is known to have it, unless the host's label bpa.akraino.org/sriov says
	// true or false.
	SRIOV bool `json:"sriov,omitempty"`
	// QAT asks for Intel QuickAssist: the host's label bpa.akraino.org/qat must say true.
	QAT bool `json:"qat,omitempty"`
	// Selector is on the labels of the BareMetalHost.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Architecture of the CPU, as Metal3 writes it (x86_64, aarch64) or Go does (amd64, arm64).
	Architecture string `json:"architecture,omitempty"`
	// CPUModel is a pattern for the CPU's model, such as "Intel*Xeon*Gold 6*".
	CPUModel string `json:"cpuModel,omitempty"`
	// CPUFlags that the CPU must all have, such as avx512f.
	// +kubebuilder:validation:MaxItems=64
	CPUFlags []string `json:"cpuFlags,omitempty"`
	// CPUClockMHz is the least clock rate, in MHz.
	CPUClockMHz int32 `json:"cpuClockMHz,omitempty"`
	// Disks that the host must have. Each item is looked at by itself: a disk may count for two.
	// +kubebuilder:validation:MaxItems=16
	Disks []DiskRequirement `json:"disks,omitempty"`
	// NICs that the host must have. Each item is looked at by itself. A card with two addresses counts once.
	// +kubebuilder:validation:MaxItems=16
	NICs []NICRequirement `json:"nics,omitempty"`
	// System is who made the host.
	System *SystemRequirement `json:"system,omitempty"`
	// Firmware of the host.
	Firmware *FirmwareRequirement `json:"firmware,omitempty"`
}

// DiskRequirement asks for disks.
type DiskRequirement struct {
	// Count of such disks, at least. Default 1.
	Count int32 `json:"count,omitempty"`
	// MinSize of each, as a quantity such as 960G.
	// +kubebuilder:validation:Pattern=`^$|^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`
	MinSize string `json:"minSize,omitempty"`
	// Type of each: HDD, SSD or NVME.
	// +kubebuilder:validation:Enum=HDD;SSD;NVME
	Type string `json:"type,omitempty"`
}

// NICRequirement asks for network cards.
type NICRequirement struct {
	// Count of such cards, at least. Default 1.
	Count int32 `json:"count,omitempty"`
	// MinSpeedGbps of each, in Gbit/s.
	MinSpeedGbps int32 `json:"minSpeedGbps,omitempty"`
	// Model is a pattern for the PCI vendor and device as Metal3 writes them: "0x8086 0x158b".
	Model string `json:"model,omitempty"`
	// SRIOV asks that each is of a model known to have SR-IOV.
	SRIOV bool `json:"sriov,omitempty"`
}

// SystemRequirement is who made the host.
type SystemRequirement struct {
	// Vendor is a pattern, such as "Dell*".
	Vendor string `json:"vendor,omitempty"`
	// Product is a pattern, such as "PowerEdge R7?0*".
	Product string `json:"product,omitempty"`
}

// FirmwareRequirement is what BIOS a host has.
type FirmwareRequirement struct {
	// Vendor of the BIOS, a pattern.
	Vendor string `json:"vendor,omitempty"`
	// Version of the BIOS, a pattern, such as "2.1*".
	Version string `json:"version,omitempty"`
	// Date of the BIOS, a pattern for what the BIOS says, which every vendor writes as it likes: "*/2024".
	Date string `json:"date,omitempty"`
}
