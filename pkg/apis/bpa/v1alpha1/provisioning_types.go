package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
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

// ProvisioningSpec is the cluster that is wanted. Masters, workers, KUDPlugins and PodSubnet are ICN's.
type ProvisioningSpec struct {
	// Masters are the control plane nodes: a list of maps with one key each, the node's name in the new cluster (a DNS label).
	// An odd number is wanted, since etcd runs on them.
	// +kubebuilder:validation:MaxItems=1000
	Masters []map[string]Master `json:"masters,omitempty"`
	// Workers are the other nodes, in the same shape. With none here and none in the node sets, every control plane node is also a
	// worker. A worker with a master's name and the same MAC address or none is that master in both roles, and its host has what both
	// ask for.
	// +kubebuilder:validation:MaxItems=1000
	Workers []map[string]Worker `json:"workers,omitempty"`
	// NodeSets are further nodes, by number instead of by name. All nodes together are at most 1000.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	NodeSets []NodeSet `json:"nodeSets,omitempty"`
	// KUDPlugins are the Kubernetes Deployment (KUD) plugins to install once the cluster runs, by name.
	KUDPlugins []string `json:"KUDPlugins,omitempty"`
	// PodSubnet is the range of pod addresses of the new cluster, as a CIDR. Default 10.233.64.0/18.
	PodSubnet string `json:"PodSubnet,omitempty"`

	// OSImage is put on chosen hosts that have no operating system yet. Without it only hosts that have one can be chosen.
	OSImage *OSImageSpec `json:"osImage,omitempty"`
	// OperatingSystem is what the hosts run: ID and VERSION_ID of their /etc/os-release with a dash between, such as ubuntu-24.04. With it the packages
	// that the installation needs are looked for in the depot before any host is claimed, and hosts that run something else are refused. Without it
	// packages are not looked at.
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

// OSImageSpec is an operating system for hosts that Metal3 calls available: the fields of a BareMetalHost's image, and what goes with it.
type OSImageSpec struct {
	// Upload is an OS image that was uploaded to the depot, as OWNER/CLUSTER/NAME: the depot's URL and checksum are used, and no host is
	// claimed before it is there. Ironic must reach the depot, see imageURL of spec.depot. Either this or url is given.
	Upload string `json:"upload,omitempty"`
	// URL of the image, as Ironic reaches it: http, https, file or oci.
	URL string `json:"url,omitempty"`
	// Checksum of the image, or the URL of a file with it. Only a live-iso and an image from an oci registry can do without.
	Checksum string `json:"checksum,omitempty"`
	// ChecksumType of the checksum. Default: Metal3 finds out.
	// +kubebuilder:validation:Enum=md5;sha256;sha512;auto
	ChecksumType string `json:"checksumType,omitempty"`
	// Format of the image; without it Ironic looks.
	// +kubebuilder:validation:Enum=raw;qcow2;vdi;vmdk;live-iso
	Format string `json:"format,omitempty"`
	// UserData is the name of a Secret in the same namespace with cloud-init's user data for the host; it must let in the key of spec.ssh.
	// In the name, $(host) stands for the name of the BareMetalHost and $(node) for the node's. Left out, the host keeps what it has.
	UserData string `json:"userData,omitempty"`
	// NetworkData is the name of a Secret with the host's network data (OpenStack network_data.json), written as that of UserData.
	NetworkData string `json:"networkData,omitempty"`
	// MetaData is the name of a Secret with the host's meta data, written as that of UserData.
	MetaData string `json:"metaData,omitempty"`
}

// AccessSpec says by which of its addresses a node is reached. The first of these that gives one counts: the card with the node's mac-address,
// a card with an address in Subnets, the card that the host boots from, the host's network data, and then any card.
type AccessSpec struct {
	// Subnets are CIDRs. With two, one must be IPv4 and the other IPv6, and nodes have two addresses.
	// +kubebuilder:validation:MaxItems=2
	Subnets []string `json:"subnets,omitempty"`
	// Interface is the id of a network or link in the hosts' network data (OpenStack network_data.json).
	Interface string `json:"interface,omitempty"`
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
	// URL of the site's store, such as https://10.60.0.1:5443, as the nodes reach it. Empty means the controller's own settings (keys depot-url,
	// depot-ca, depot-image-url and depot-connected of ConfigMap config-bpa), and if there is none there either, kubespray's own Internet addresses.
	URL string `json:"url,omitempty"`
	// CABundle is the certificate, in PEM, of who signs the store's certificate. The nodes are made to trust it. Needed with a URL whose certificate
	// the nodes' operating system does not know; the depot's own is at its /ca.crt.
	CABundle string `json:"caBundle,omitempty"`
	// ImageURL is the address of the same store at which Metal3 fetches OS images that were uploaded. Plain http will do, since Metal3 compares the
	// checksum; its ramdisk knows no CA of the site's own. Default: url, and for the site's depot the setting depot-image-url.
	ImageURL string `json:"imageURL,omitempty"`
	// Connected lets BPA fetch from the Internet what the store lacks, before any host is claimed. Otherwise what is missing is listed
	// in the condition ArtifactsAvailable, and nothing but the store is asked. Default: the controller's setting depot-connected.
	Connected *bool `json:"connected,omitempty"`
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
