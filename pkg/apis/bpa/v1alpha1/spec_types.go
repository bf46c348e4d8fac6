package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OSImageSpec is an operating system for hosts that Metal3 calls available: the fields of a BareMetalHost's image, and what goes with it.
type OSImageSpec struct {
	// Upload is an OS image that was uploaded to the depot, as OWNER/CLUSTER/NAME: the depot's URL and checksum are used, and no host is
	// claimed before it is there. Ironic must reach the depot, see imageURL of spec.depot. Either this or url is given.
	Upload string `json:"upload,omitempty"`
	// URL of the image, as Ironic reaches it: http, https or oci.
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
	// +kubebuilder:validation:items:Pattern=`^[0-9A-Fa-f.:]+/[0-9]{1,3}$`
	Subnets []string `json:"subnets,omitempty"`
	// Interface is the id of a network or link in the hosts' network data (OpenStack network_data.json).
	Interface string `json:"interface,omitempty"`
}

// KubernetesSpec says which Kubernetes is installed and how its network looks.
type KubernetesSpec struct {
	// Version is the Kubernetes version, such as 1.35.4. The depot must hold its binaries and images.
	// +kubebuilder:validation:Pattern=`^$|^v*(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`
	Version string `json:"version,omitempty"`
	// ServiceSubnet is the range of service addresses, as a CIDR. Default 10.233.0.0/18.
	// +kubebuilder:validation:Pattern=`^$|^[0-9.]+/[0-9]{1,2}$`
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
	// Release picks one of several kubespray releases that the site has installed side by side, such as v2.31.0: the run then uses the
	// Tasks kubespray-v2.31.0 and seed-registry-v2.31.0 of namespace bpa-system. Empty means the Tasks kubespray and seed-registry.
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^$|^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Release string `json:"release,omitempty"`
}

// SSHSpec says how the hosts are reached.
type SSHSpec struct {
	// User logs in; it must be root or able to sudo without a password. Default root.
	User string `json:"user,omitempty"`
	// Port of the SSH server. Default 22.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// SecretName is a Secret of type kubernetes.io/ssh-auth in the same namespace with the private key in
	// ssh-privatekey. Default ssh-key.
	SecretName string `json:"secretName,omitempty"`
}

// DepotSpec says where the nodes get binaries and images.
type DepotSpec struct {
	// URL of the site's store, such as https://10.60.0.1:5443, as the nodes reach it. Empty means the controller's own settings (keys depot-url,
	// depot-insecure, depot-ca, depot-image-url and depot-connected of ConfigMap config-bpa), and if there is none there either, kubespray's own Internet addresses.
	URL string `json:"url,omitempty"`
	// Insecure accepts a URL of plain HTTP, which is refused otherwise: whoever is on the network between chooses the packages, binaries and images
	// that are installed on the nodes. For https it changes nothing: the certificate is always checked. Default: the controller's setting
	// depot-insecure for the site's depot, false for any other.
	Insecure bool `json:"insecure,omitempty"`
	// CABundle is the certificate, in PEM, of who signs the store's certificate. The nodes are made to trust it. Needed with a URL whose certificate
	// the nodes' operating system does not know; the depot's own is at its /ca.crt.
	CABundle string `json:"caBundle,omitempty"`
	// ImageURL is the address of the same store at which Metal3 fetches OS images that were uploaded. Plain http will do: the digest that Metal3
	// compares is read at url, and its ramdisk knows no CA of the site's own. Default: url, and for the site's depot the setting depot-image-url.
	ImageURL string `json:"imageURL,omitempty"`
	// Checksums says who knows what is in the files that nodes download. Kubespray: its own tables count, and where they have nothing, as of a
	// version that is newer than the tables, the depot's digest. Depot: always the depot's, for a site that builds its own binaries. A checksum in
	// spec.kubespray.vars goes before both. Default Kubespray.
	// +kubebuilder:validation:Enum=Kubespray;Depot
	Checksums ChecksumSource `json:"checksums,omitempty"`
	// Connected lets BPA fetch from the Internet what the store lacks, before any host is claimed. Otherwise what is missing is listed
	// in the condition ArtifactsAvailable, and nothing but the store is asked. Default: the controller's setting depot-connected.
	Connected *bool `json:"connected,omitempty"`
}

// ChecksumSource is who knows what is in a file.
type ChecksumSource string

const (
	// ChecksumsKubespray are those that kubespray's release has in its tables.
	ChecksumsKubespray ChecksumSource = "Kubespray"
	// ChecksumsDepot are those of what the depot holds.
	ChecksumsDepot ChecksumSource = "Depot"
)

// TimeoutsSpec bounds the operations on the cluster.
type TimeoutsSpec struct {
	// Install bounds one attempt to install the cluster. Default 2h.
	Install *metav1.Duration `json:"install,omitempty"`
}
