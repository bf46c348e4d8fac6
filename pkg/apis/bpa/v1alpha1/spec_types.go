package v1alpha1

import (
	"net/url"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// OSImageSpec is an operating system image for hosts in Metal3's state "available". It has the
// fields of a BareMetalHost's image, and the names of Secrets with further data for the host.
type OSImageSpec struct {
	// Upload is an OS image that was uploaded to the depot, as OWNER/CLUSTER/NAME. The depot
	// provides its URL and checksum. No host is claimed before the image is in the depot. Ironic
	// must be able to reach the depot; see imageURL of spec.depot. Set either upload or url.
	Upload string `json:"upload,omitempty"`
	// URL is the address of the image at which Ironic reaches it: http, https or oci.
	URL string `json:"url,omitempty"`
	// Checksum is the checksum of the image, or the URL of a file with it. It is optional only for
	// a live-iso and for an image from an oci registry.
	Checksum string `json:"checksum,omitempty"`
	// ChecksumType is the type of the checksum. By default Metal3 detects it.
	// +kubebuilder:validation:Enum=md5;sha256;sha512;auto
	ChecksumType string `json:"checksumType,omitempty"`
	// Format is the format of the image. By default Ironic detects it.
	// +kubebuilder:validation:Enum=raw;qcow2;vdi;vmdk;live-iso
	Format string `json:"format,omitempty"`
	// UserData is the name of a Secret in the same namespace with cloud-init user data for the
	// host. The user data must authorize the key of spec.ssh. In the name, $(host) stands for the
	// name of the BareMetalHost and $(node) for the name of the node. If userData is empty, the
	// host keeps its current value.
	UserData string `json:"userData,omitempty"`
	// NetworkData is the name of a Secret with the host's network data (OpenStack
	// network_data.json). The name can contain the same placeholders as userData.
	NetworkData string `json:"networkData,omitempty"`
	// MetaData is the name of a Secret with the host's metadata. The name can contain the same
	// placeholders as userData.
	MetaData string `json:"metaData,omitempty"`
}

// AccessSpec selects one of a host's addresses for its node. These rules are tried in this order
// until one gives an address: (1) the network card with the node's mac-address; (2) the network or
// link that interface names; (3) subnets; (4) the card that the host boots from; (5) the host's
// network data; (6) the only card that has an address. If Metal3 installs the host's operating
// system, the addresses in the host's network data come before those of its cards.
type AccessSpec struct {
	// Subnets are CIDRs. With two CIDRs, one must be IPv4 and the other IPv6, and nodes have two
	// addresses.
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Pattern=`^[0-9A-Fa-f.:]+/[0-9]{1,3}$`
	Subnets []string `json:"subnets,omitempty"`
	// Interface is the id of a network or link in the hosts' network data (OpenStack
	// network_data.json). If it is set, only the address of this network is used; a host without
	// the network has no address.
	Interface string `json:"interface,omitempty"`
}

// KubernetesSpec selects the Kubernetes version and its network.
type KubernetesSpec struct {
	// Version is the Kubernetes version, such as 1.35.4. The depot must hold its binaries and
	// images. A newer version is applied to an installed cluster as spec.upgrade describes, one minor
	// version after the other. An older version is refused. An update without a version keeps the stored
	// one.
	// +kubebuilder:validation:Pattern=`^$|^v*(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`
	Version string `json:"version,omitempty"`
	// ServiceSubnet is the range of service addresses, as a CIDR; for a cluster with both address families as in
	// PodSubnet. Default 10.233.0.0/18.
	// +kubebuilder:validation:Pattern=`^$|^[0-9.]+/[0-9]{1,2}(,[0-9A-Fa-f:]+/[0-9]{1,3})?$`
	ServiceSubnet string `json:"serviceSubnet,omitempty"`
	// NetworkPlugin is kubespray's kube_network_plugin. Default flannel.
	// +kubebuilder:validation:Enum=calico;cilium;cni;custom_cni;flannel;kube-ovn;kube-router;macvlan;none
	NetworkPlugin string `json:"networkPlugin,omitempty"`
	// API is the address at which users and nodes reach the API servers. Without it, users reach them at the
	// address of a control plane. It cannot change in an installed cluster.
	// +optional
	API *APISpec `json:"api,omitempty"`
}

// APIMode says which address the API servers have.
type APIMode string

const (
	// APINode means the address of a control plane. If it is lost, the kubeconfig names another one.
	APINode APIMode = "Node"
	// APIExternal means the address of a load balancer of the site.
	APIExternal APIMode = "External"
	// APIVIP means an address that moves between the control planes by VRRP. keepalived has it in a static pod.
	APIVIP APIMode = "VIP"
)

// DefaultAPIPort is the default port of the API servers, and of the address in front of them.
const DefaultAPIPort = 6443

// APISpec is the address of the API servers. docs/day-one.md describes it.
type APISpec struct {
	// Mode is Node: the address of a control plane; External: a load balancer of the site in front of all control
	// planes; or VIP: an unused address of the network of the control planes, which one of them has, and which moves
	// to another one within 5 s. Default Node.
	// +kubebuilder:validation:Enum=Node;External;VIP
	Mode APIMode `json:"mode,omitempty"`
	// Address is the IPv4 address or the DNS name of the load balancer, or the IPv4 address that moves. The nodes and the users of the cluster
	// must reach it, and every host must resolve the name before an installation. It counts only with another mode than Node.
	// +kubebuilder:validation:MaxLength=253
	Address string `json:"address,omitempty"`
	// Port is the port of the load balancer, and always 6443 in mode VIP. It may differ from that of the API servers (kubespray's
	// kube_apiserver_port). Default 6443.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// Names are further DNS names and IP addresses for the certificate of the API servers, in every mode, such as
	// an outer address of the load balancer.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Names []string `json:"names,omitempty"`
}

// KubespraySpec holds settings that are passed to kubespray unchanged.
type KubespraySpec struct {
	// Vars are kubespray variables with any JSON values. They override all variables that BPA sets.
	// Ansible evaluates strings in them as templates. Therefore, a user who can write a
	// Provisioning can run commands in the task that runs kubespray. A change is applied to an
	// installed cluster as spec.upgrade describes. Some variables cannot change in a running cluster;
	// docs/upgrade.md lists them.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Vars map[string]apiextensionsv1.JSON `json:"vars,omitempty"`
	// VarsFrom are kubespray variables whose values are in Secrets of the same namespace, such as the password of
	// a registry. Only the pod that runs kubespray gets the values; everything else has digests that nobody can
	// guess them by. If several entries have a variable, the last one wins; Vars wins over all of them. Ansible takes
	// the values literally: it evaluates no template in them. A change of a Secret is applied like a change of
	// Vars. A variable that BPA reads, or that cannot change in a running cluster, must be in Vars.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	VarsFrom []VarsSource `json:"varsFrom,omitempty"`
	// Release selects one of several kubespray releases that are installed at the site, such as
	// v2.31.0. The run then uses the Tasks kubespray-v2.31.0 and seed-registry-v2.31.0 of namespace
	// bpa-system. If it is empty, the run uses the Tasks kubespray and seed-registry. A newer release is
	// applied to an installed cluster as spec.upgrade describes. An older release is refused. An update
	// without a release keeps the stored one.
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^$|^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Release string `json:"release,omitempty"`
	// Acceleration switches off what makes the playbooks of kubespray faster. A change takes effect in
	// the next run, and starts none.
	Acceleration Acceleration `json:"acceleration,omitempty"`
}

// VarsSource is one key of a Secret with variables of kubespray.
type VarsSource struct {
	SecretRef SecretKeyRef `json:"secretRef"`
	// Variable is the variable whose value is the text at the key, without line ends at its end. If it is
	// empty, the text is a YAML mapping of variables, such as "registry_password: ...".
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^$|^[A-Za-z_][A-Za-z0-9_]*$`
	Variable string `json:"variable,omitempty"`
}

// SecretKeyRef names a key of a Secret in the same namespace. The Secret must have the label
// bpa.akraino.org/vars with the value true. So a user who can write a Provisioning, but not read Secrets, gets no
// other Secret into a playbook.
type SecretKeyRef struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Key is vars.yaml if it is empty. With Variable, it is required.
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// DefaultVarsKey is the key of a Secret with a YAML mapping of variables.
const DefaultVarsKey = "vars.yaml"

// KeyOf returns the key of the Secret.
func (r SecretKeyRef) KeyOf() string {
	if r.Key == "" {
		return DefaultVarsKey
	}
	return r.Key
}

// Acceleration names the accelerations of kubespray that are switched off. docs/kubespray.md describes
// them. They do not change what a playbook does.
type Acceleration struct {
	// Disable are the accelerations that the next runs do not use; All: none of them.
	// +kubebuilder:validation:items:Enum=All;TemplateCache;Threads;InProcess;LazyVariables;PreparedFacts;ModuleCache;Interpreter;Prefetch;Variables
	// +listType=set
	// +optional
	Disable []string `json:"disable,omitempty"`
}

// ChecksSpec names the checks of hosts that are switched off. docs/checks.md describes them.
type ChecksSpec struct {
	// Disable are the checks that the next runs do not make.
	// +kubebuilder:validation:items:Enum=answer;machine-id;product-uuid;mac-address;hostname;address;systemd;kernel;kernel-features;cgroup;cpus;memory;swap;selinux;apparmor;tools;package-lock;package-interrupted;clock;clock-drift;time-source;disk-space;disk-reserve;disk-pressure;mounts;etcd-fsync;default-route;resolver;resolver-loop;resolver-answer;api-address;ranges;mtu;mtu-path;ports-free;ports-reachable;udp-reachable;firewall;depot;depot-throughput
	// +listType=set
	// +optional
	Disable []string `json:"disable,omitempty"`
}

// PluginSpec is the version and the parameters of one plugin.
type PluginSpec struct {
	// Version of a plugin that is shipped with BPA is the shipped one. It can be left out; with it, a
	// BPA that ships another version reports this instead of installing it. For a plugin of the site, it
	// is required, and is the tag of the artifact plugins/NAME in the depot.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^$|^[a-zA-Z0-9_][a-zA-Z0-9._-]*$`
	Version string `json:"version,omitempty"`
	// Parameters are the plugin's parameters, with any JSON values that its schema permits.
	// `kubectl bpa plugins show NAME` lists them.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters map[string]apiextensionsv1.JSON `json:"parameters,omitempty"`
}

// SSHSpec describes how BPA logs in to the hosts.
type SSHSpec struct {
	// User is the login user: root, or a user that can sudo without a password. Default root.
	User string `json:"user,omitempty"`
	// Port is the port of the SSH server. Default 22.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// SecretName is the name of a Secret of type kubernetes.io/ssh-auth in the same namespace. Its
	// key ssh-privatekey holds the private key. Default ssh-key.
	SecretName string `json:"secretName,omitempty"`
}

// DepotSpec is the store from which the nodes download binaries and images.
type DepotSpec struct {
	// URL is the address of the site's depot at which the nodes reach it, such as
	// https://10.60.0.1:5443. If it is empty, the controller's settings apply: the keys depot-url,
	// depot-insecure, depot-ca, depot-image-url and depot-connected of ConfigMap config-bpa. If the
	// settings name no depot either, the nodes download from kubespray's Internet addresses.
	URL string `json:"url,omitempty"`
	// Insecure accepts a plain HTTP URL, which is rejected otherwise. With plain HTTP, anyone on
	// the network path can change the packages, binaries and images that are installed on the
	// nodes. It has no effect on https URLs: the certificate is always checked. For the site's
	// depot, the default is the controller's setting depot-insecure; for any other depot, it is
	// false.
	Insecure bool `json:"insecure,omitempty"`
	// CABundle is the PEM certificate of the authority that signs the depot's certificate. BPA
	// configures the nodes to trust it. It is required if the nodes' operating system does not
	// trust the certificate of the URL. The depot serves the certificate of its authority at
	// /ca.crt.
	CABundle string `json:"caBundle,omitempty"`
	// ImageURL is the address of the same depot from which Metal3 downloads uploaded OS images. It
	// may be plain HTTP for two reasons: Metal3 compares the image with a digest that is read from
	// url, and Metal3's ramdisk does not trust a private CA. For the site's depot, the default is
	// the controller's setting depot-image-url. For any other depot, the default is url.
	ImageURL string `json:"imageURL,omitempty"`
	// Checksums selects the source of the checksums of files that nodes download. With Kubespray,
	// the checksums come from the tables of the kubespray release. For files that are missing in
	// these tables, such as files of a newer version, the depot's digests are used. With Depot, the
	// depot's digests are always used; this is meant for a site that builds its own binaries. A
	// checksum in spec.kubespray.vars overrides both. Default Kubespray.
	// +kubebuilder:validation:Enum=Kubespray;Depot
	Checksums ChecksumSource `json:"checksums,omitempty"`
	// Connected lets BPA download missing artifacts from the Internet into the depot, before it
	// claims a host. Otherwise, BPA uses only the depot, and the condition ArtifactsAvailable lists
	// the missing artifacts. Default: the controller's setting depot-connected.
	Connected *bool `json:"connected,omitempty"`
}

// ChecksumSource is the source of the checksums of files.
type ChecksumSource string

const (
	// ChecksumsKubespray means the checksums in the tables of the kubespray release.
	ChecksumsKubespray ChecksumSource = "Kubespray"
	// ChecksumsDepot means the digests of the files in the depot.
	ChecksumsDepot ChecksumSource = "Depot"
)

// DeletionPolicy selects what happens to hosts when their Provisioning is deleted.
type DeletionPolicy string

const (
	// DeletionReset means that the cluster is removed from the hosts.
	DeletionReset DeletionPolicy = "Reset"
	// DeletionRetain means that nothing is changed on the hosts.
	DeletionRetain DeletionPolicy = "Retain"
)

// ReplacePolicy selects which hosts may replace a lost host.
type ReplacePolicy string

const (
	// ReplaceStandby means the standby hosts of the node's set.
	ReplaceStandby ReplacePolicy = "Standby"
	// ReplaceAny means every free host that meets the node's requirements.
	ReplaceAny ReplacePolicy = "Any"
	// ReplaceNever means that a lost host is replaced only if a user requests it.
	ReplaceNever ReplacePolicy = "Never"
)

// TimeoutsSpec limits the operations on the cluster.
type TimeoutsSpec struct {
	// Install limits one attempt at an installation or at a change of the cluster. Default 2h. An attempt that runs
	// without acceleration because an earlier one failed with it has twice this time.
	Install *metav1.Duration `json:"install,omitempty"`
	// Drain limits the time in which the pods of one node must have left it before the node is
	// removed from the cluster, at least 1s. Default 10m.
	Drain *metav1.Duration `json:"drain,omitempty"`
}

// UpgradeSpec describes how the nodes of an installed cluster get another Kubernetes version, another
// kubespray release or other kubespray variables: the control plane nodes one by one, and then the
// workers in batches. Each batch is a run of its own, which begins and ends with a check of the whole
// cluster.
type UpgradeSpec struct {
	// MaxUnavailable is the size of a batch: the number of workers that are upgraded at the same time,
	// or a percentage of all workers, rounded down, but at least one. Default 1.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// DrainTimeout limits the time in which the pods of one node must have left it before the node is
	// upgraded, at least 1s. Default spec.timeouts.drain.
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// PauseAfterControlPlane keeps the workers at their version after all control plane nodes have the
	// new one, until it is false. Workers that a failed run has left half upgraded go on.
	PauseAfterControlPlane bool `json:"pauseAfterControlPlane,omitempty"`
}

// IsPlainHTTP reports whether the address begins with http://. Over such a connection, an attacker
// can change the contents.
func IsPlainHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http"
}
