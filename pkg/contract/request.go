package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/akraino-icn/bpa/pkg/digest"
)

// Request is the input of a run, and every task reads it. It is one document: the JSON of its parts has no names of their
// own. The reconciler makes it from a Provisioning.
type Request struct {
	Order
	Spec
	Record
}

// Order is what a run is to do. It is written when the run starts: the request of a spec has
// none, and what identifies a cluster does not depend on it.
type Order struct {
	// Operation is the name of the run's operation.
	Operation string `json:"operation,omitempty"`
	// Nodes are the nodes that the run works on beside the members, if it claims no host: all nodes of a reset, those that
	// a removal removes although they have not joined, and those of a cluster without a record.
	Nodes []Node `json:"nodes,omitempty"`
	// Outcome is the name of the ConfigMap in which the tasks store what later tasks of the run read (see OutcomeName).
	Outcome string `json:"outcome,omitempty"`
	// Remove describes the nodes that the run removes; nil: none.
	Remove *Removal `json:"remove,omitempty"`
	// Upgrade describes the nodes that the run upgrades to KubernetesVersion and Vars; nil: none.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Restore describes the backup that the run restores; nil: none.
	Restore *Restore `json:"restore,omitempty"`
	// Unaccelerated is the name of the run whose playbook failed with accelerations (Failure.Accelerated). This run and
	// all further attempts at the same state use none. Empty: SwitchedOff counts.
	Unaccelerated string `json:"unaccelerated,omitempty"`
	// Software are the packages of the cluster's nodes, in a run that installs them; nil: the run installs none.
	// The task kubespray installs them on new machines before its playbook, and the task install-software on
	// Software.Nodes.
	Software *SoftwareRun `json:"software,omitempty"`
	// MaxHosts is the number of hosts of HostNamespace that the Provisionings of Namespace may hold
	// together; nil: there is no limit.
	MaxHosts *int `json:"maxHosts,omitempty"`
}

// Spec describes the cluster that the run makes, and how the site's hosts and depot are reached: package contract/from
// makes exactly these fields from a Provisioning. Which of them define the cluster, so that another value is another
// cluster, is in from.Digest.
type Spec struct {
	// Provisioning, Namespace and UID identify the Provisioning of the run, which claims the hosts.
	// UID is empty in a reset of hosts that a user has named. Such a reset removes the cluster of any
	// owner; every other reset leaves a machine alone that another Provisioning has marked.
	Provisioning string `json:"provisioning"`
	Namespace    string `json:"namespace"`
	UID          string `json:"uid"`
	// Pool is the namespace of the hosts if it is another one than Namespace; empty: Namespace. See
	// HostNamespace.
	Pool string `json:"pool,omitempty"`
	// Cluster is the cluster's name for users: ICN's label "cluster", or else the name of the
	// Provisioning.
	Cluster string `json:"cluster"`
	// Slots are the nodes that the spec requests by name, masters first, in the order of the spec.
	Slots []Slot `json:"slots"`
	// Sets are the nodes that the spec requests by number, in the order of the spec.
	Sets []Set `json:"sets,omitempty"`
	// Patched is Installed.Patched. In an installation and in the request of the spec, it is the patch
	// level that the spec requests (see AnnotationPatch): the nodes of a new cluster count as having it.
	Patched string `json:"patched,omitempty"`
	// Release is the kubespray release that the Provisioning selects. It is the last part of the
	// Tasks' names. Empty: the Tasks without a release in their names.
	Release string `json:"release,omitempty"`
	// OSImage is the image for hosts that have no operating system. nil: such hosts cannot be
	// chosen.
	OSImage *OSImage `json:"osImage,omitempty"`
	// OperatingSystem is the operating system of the hosts: ID-VERSION_ID of os-release(5), such as
	// ubuntu-24.04. Empty: unknown.
	OperatingSystem string `json:"operatingSystem,omitempty"`
	// Access selects the addresses at which nodes are reached.
	Access Access `json:"access,omitzero"`

	KubernetesVersion string `json:"kubernetesVersion"` // without a leading v: 1.35.4
	NetworkPlugin     string `json:"networkPlugin"`
	PodSubnet         string `json:"podSubnet"`     // CIDR
	ServiceSubnet     string `json:"serviceSubnet"` // CIDR
	// API is the address of the API servers; nil: that of a control plane.
	API *API `json:"api,omitempty"`

	SSHUser string `json:"sshUser"`
	SSHPort int    `json:"sshPort"`
	// DepotURL is the URL of the depot, without a trailing slash; empty: nodes use the Internet.
	DepotURL string `json:"depotURL,omitempty"`
	// DepotCA is the certificate, in PEM, of the authority that signed the depot's certificate. Empty:
	// the nodes trust that authority already, or the depot uses plain HTTP.
	DepotCA string `json:"depotCA,omitempty"`
	// DepotOfSite reports that DepotURL and DepotCA come from the site's settings. The run sends
	// its token only to that depot, because the token is valid there and must not reach a server
	// that a Provisioning names. There is one exception: if the param "depot" of the Task
	// seed-registry is set, the run writes to the address in this param and always sends the token.
	DepotOfSite bool `json:"depotOfSite,omitempty"`
	// DepotChecksums reports that files are compared with the depot's digests instead of the
	// checksums in kubespray's tables.
	DepotChecksums bool `json:"depotChecksums,omitempty"`
	// Connected reports that artifacts that are missing in the depot may be downloaded from the
	// Internet.
	Connected bool `json:"connected,omitempty"`
	// Unchecked are the IDs of the checks of hosts that the run does not make, as package check has them.
	Unchecked []string `json:"unchecked,omitempty"`
	// SwitchedOff are the names of the accelerations of kubespray that the run does not use, as package
	// acceleration has them.
	SwitchedOff []string `json:"switchedOff,omitempty"`
	// Plugins are the plugins of the cluster, in the order of their needs.
	Plugins []Plugin `json:"plugins,omitempty"`
	// PluginVars and PluginGroups are the kubespray variables and the groups of the inventory that the
	// plugins of the cluster add, also in a run that does not install them. Vars override PluginVars.
	// They count whenever a playbook of kubespray configures a node. A change of them alone upgrades no
	// node: neither the digests nor Settings depend on them.
	PluginVars   map[string]json.RawMessage `json:"pluginVars,omitempty"`
	PluginGroups []PluginGroup              `json:"pluginGroups,omitempty"`
	// Vars are the user's kubespray variables. They override the variables that BPA sets.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
	// SecretVars has, by name, keyed digests of the user's variables whose values are in Secrets
	// (secretvars.Digests). They are always those of the present content: an earlier one is not kept
	// anywhere. None of them is in Vars. They override the variables that BPA and plugins set.
	SecretVars map[string]string `json:"secretVars,omitempty"`
}

// Record is what was known before the run: the installed cluster, its lost nodes, and the hosts that the run must not
// choose. It is written when the run starts: the request of a spec has none, and what identifies a cluster does not depend
// on it.
type Record struct {
	// Installed are the BareMetalHosts, sorted by name, on which a node of this cluster is or may
	// be installed. Such a host keeps its node as long as the spec requests the node and the host
	// is not lost.
	Installed []string `json:"installed,omitempty"`
	// Complete reports that the cluster was installed completely once. From then on, the hosts in
	// Installed on which a playbook has succeeded are never reset to repair a run.
	Complete bool `json:"complete,omitempty"`
	// ClusterCA are the certificates, in PEM, of the authority that the stored kubeconfig of the installed
	// cluster trusts; empty: it is not known. A task uses no administrator's kubeconfig of another authority.
	ClusterCA string `json:"clusterCA,omitempty"`
	// Lost are the names of the nodes of the cluster whose hosts are lost, and Kept are those of them
	// that the run neither replaces nor removes: they stay nodes of the cluster, but the run does not
	// contact them and does not wait for them. The run removes the others (see Gone) from the cluster,
	// except those that are Ready there.
	Lost []string `json:"lost,omitempty"`
	Kept []string `json:"kept,omitempty"`
	// PassedOver are hosts that failed in this Provisioning, such as a host that did not receive its
	// image or did not answer by SSH, and the hosts of lost nodes that the run does not replace: such
	// a node may still run there. They are not chosen, except for a node that is or may be installed
	// on them.
	PassedOver []string `json:"passedOver,omitempty"`
	// Unreset are claimed hosts of nodes that have left the cluster, and that still contain a part of it, such as hosts that
	// did not answer when their nodes were removed. They stay claimed, and no node is installed on them before they are
	// reset. None of them is in Installed.
	Unreset []string `json:"unreset,omitempty"`
	// Members are the nodes of the installed cluster before the run (Installed.Nodes). The inventory
	// lists the control planes that stay in this order, before new ones. EtcdNext is
	// Installed.EtcdNext.
	Members  []Node `json:"members,omitempty"`
	EtcdNext int    `json:"etcdNext,omitempty"`
}

// HostNamespace returns the namespace of the hosts.
func (s Spec) HostNamespace() string { return cmp.Or(s.Pool, s.Namespace) }

// SetsVar reports whether the user sets a variable of kubespray.
func (s Spec) SetsVar(name string) bool {
	_, plain := s.Vars[name]
	_, secret := s.SecretVars[name]
	return plain || secret
}

// AllVars returns Vars together with SecretVars. The value of a secret variable is SecretValue of its digest.
func (s Spec) AllVars() map[string]json.RawMessage {
	if len(s.SecretVars) == 0 {
		return s.Vars
	}
	all := make(map[string]json.RawMessage, len(s.Vars)+len(s.SecretVars))
	maps.Copy(all, s.Vars)
	for name, digest := range s.SecretVars {
		all[name], _ = json.Marshal(SecretValue(digest)) // a string can always be encoded
	}
	return all
}

// SecretValue is the value of a secret variable where the value itself must not be.
func SecretValue(digest string) string { return "(in a Secret, " + digest + ")" }

// Gone returns the names of the lost nodes that the run replaces or removes.
func (r Request) Gone() []string {
	return slices.DeleteFunc(slices.Clone(r.Lost), func(name string) bool { return slices.Contains(r.Kept, name) })
}

// Renewed returns the names of the nodes of the cluster that the run installs anew: those in the place of
// lost nodes and, in a restore, all control planes. What the record says of their versions ends.
func (r Request) Renewed() []string {
	names := r.Gone()
	for _, n := range r.Members {
		if r.Restore != nil && slices.Contains(n.Roles, RoleControlPlane) && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// Slot is one node that the spec requests by name.
type Slot struct {
	Name  string   `json:"name"`  // node name, a DNS label
	Roles []string `json:"roles"` // RoleControlPlane, RoleWorker or both, in this order
	// MAC is the MAC address of the host to which the slot is pinned, in lower case with colons.
	// Empty: any host that meets the requirements.
	MAC string `json:"mac,omitempty"`
	Needs
	// Taints are what the Node has from when it joins, such as "example.org/gpu=yes:NoSchedule". The digest does not depend
	// on them: the controller keeps those of running nodes in step.
	Taints []string `json:"taints,omitempty"`
	// Vars are kubespray variables of this node. See VarsOf.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
}

// Set is a number of nodes with the same requirements. The name of a node is the set's name, a dash and a
// number from 1. A node keeps its name as long as it keeps its host.
type Set struct {
	Name  string   `json:"name"` // a DNS label
	Roles []string `json:"roles"`
	// Active is the number of installed nodes. Standby is the number of hosts that are only claimed, to
	// replace a lost active node.
	Active  int `json:"active"`
	Standby int `json:"standby,omitempty"`
	Needs
	Spread *Spread  `json:"spread,omitempty"`
	Taints []string `json:"taints,omitempty"` // as in Slot
	// Vars are kubespray variables of each node of the set.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
}

// Spread describes how the nodes of a set are distributed over domains. A domain is a value of the
// label TopologyKey on the candidates of the set. Candidates are usable hosts that meet the set's
// needs and that are free or claimed by this Provisioning.
type Spread struct {
	TopologyKey string `json:"topologyKey"`
	// MaxSkew is the largest allowed difference between the fullest and the emptiest domain, in nodes;
	// at least 1. Active and standby nodes both count.
	MaxSkew int `json:"maxSkew"`
	// Soft reports that an uneven spread, and hosts without the label, are accepted if no even
	// spread exists.
	Soft bool `json:"soft,omitempty"`
}

// Needs are the requirements on a host. A field with the zero value requires nothing. If a property
// of a host is unknown, the host does not meet a requirement on this property.
type Needs struct {
	CPU    int   `json:"cpu,omitempty"`    // minimum, in threads
	Memory int64 `json:"memory,omitempty"` // minimum, in bytes
	SRIOV  bool  `json:"sriov,omitempty"`
	QAT    bool  `json:"qat,omitempty"`

	Labels       []LabelTerm `json:"labels,omitempty"`       // the labels of the BareMetalHost must match all of them
	Architecture string      `json:"architecture,omitempty"` // as Metal3 writes it: x86_64, aarch64
	CPUModel     string      `json:"cpuModel,omitempty"`     // a pattern
	CPUFlags     []string    `json:"cpuFlags,omitempty"`     // all, such as avx512f
	CPUClock     int         `json:"cpuClock,omitempty"`     // minimum, in MHz
	Disks        []DiskNeed  `json:"disks,omitempty"`        // one disk satisfies one item only
	NICs         []NICNeed   `json:"nics,omitempty"`         // as Disks
	Vendor       string      `json:"vendor,omitempty"`       // of the system, a pattern
	Product      string      `json:"product,omitempty"`      // of the system, a pattern
	Firmware     *Firmware   `json:"firmware,omitempty"`
}

// In these types, a pattern must match the whole string, without regard to case. * stands for any
// characters, ? for one character.

// LabelTerm is one requirement on labels, as in a Kubernetes label selector.
type LabelTerm struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists, DoesNotExist
	Values   []string `json:"values,omitempty"`
}

// DiskNeed requires a number of disks.
type DiskNeed struct {
	Count int    `json:"count"`          // at least 1
	Size  int64  `json:"size,omitempty"` // minimum of each, in bytes
	Type  string `json:"type,omitempty"` // HDD, SSD or NVME
}

// NICNeed requires a number of network cards. A card with two addresses counts once.
type NICNeed struct {
	Count int    `json:"count"`           // at least 1
	Speed int    `json:"speed,omitempty"` // minimum of each, in Gbit/s
	Model string `json:"model,omitempty"` // a pattern for Metal3's "0xVENDOR 0xDEVICE", such as "0x8086 0x158b"
	SRIOV bool   `json:"sriov,omitempty"` // each must be known to have SR-IOV
}

// Firmware are patterns for the BIOS.
type Firmware struct {
	Vendor  string `json:"vendor,omitempty"`
	Version string `json:"version,omitempty"`
	Date    string `json:"date,omitempty"`
}

// OSImage is an operating system image for hosts in Metal3's state "available".
type OSImage struct {
	URL          string `json:"url"`
	Checksum     string `json:"checksum,omitempty"`     // a digest, or the URL of a file with the digest
	ChecksumType string `json:"checksumType,omitempty"` // md5, sha256, sha512, auto
	// Uploaded reports that the image is stored in the depot. The task seed-registry reports the
	// digest of such an image, which can replace Checksum (see WithDigest).
	Uploaded bool   `json:"uploaded,omitempty"`
	Format   string `json:"format,omitempty"` // raw, qcow2, vdi, vmdk, live-iso
	// UserData, NetworkData and MetaData are names of Secrets in the same namespace. In them,
	// $(host) stands for the name of the BareMetalHost and $(node) for the name of the node. If one
	// of them is empty, the host's own setting for this Secret does not change.
	UserData    string `json:"userData,omitempty"`
	NetworkData string `json:"networkData,omitempty"`
	MetaData    string `json:"metaData,omitempty"`
}

// WithDigest returns an uploaded image with sum as its Checksum, which is otherwise the URL of a
// file with the digest. sum is the SHA-256 in hexadecimal. The digest is safer than the URL,
// because that file would come over the same connection as the image. If sum is None or empty, the
// digest is unknown and the image is returned unchanged. An image that was not uploaded is also
// returned unchanged.
func (i OSImage) WithDigest(sum string) (OSImage, error) {
	if !i.Uploaded || sum == "" || sum == None {
		return i, nil
	}
	if !digest.IsSHA256(sum) {
		return i, fmt.Errorf("%q is not the SHA-256 of an OS image", sum)
	}
	i.Checksum, i.ChecksumType = sum, "sha256"
	return i, nil
}

// Access selects the addresses at which nodes are reached.
type Access struct {
	// Subnets are CIDRs. The address of a node is in the first subnet. The second subnet, if there
	// is one, is of the other IP family and contains the second address of the node.
	Subnets []string `json:"subnets,omitempty"`
	// Interface is the id of a network or link in the network data of the hosts. The address of a
	// node comes from this network or link. Empty: the other rules of hosts.Host.Addresses choose
	// the address.
	Interface string `json:"interface,omitempty"`
}

// Node is a requested node with the host that was claimed for it.
type Node struct {
	Name    string   `json:"name"`
	Roles   []string `json:"roles"`
	Host    string   `json:"host"`    // name of the BareMetalHost
	HostUID string   `json:"hostUID"` // its UID; SSH host keys are pinned to it
	Address string   `json:"address"` // IP address of the host; may be empty for a standby host
	// Address6 is the IPv6 address of a host that has both families and is reached by IPv4.
	Address6 string `json:"address6,omitempty"`
	// MACs are the MAC addresses of the host's network cards, in lower case with colons. The
	// machine that answers at Address must have one of them. If MACs is empty, Metal3
	// reports no addresses.
	MACs    []string `json:"macs,omitempty"`
	Set     string   `json:"set,omitempty"`     // the node set it belongs to
	Standby bool     `json:"standby,omitempty"` // claimed, not installed
	// Etcd is the name of the node's member of etcd, such as etcd2. Only the nodes of Installed and
	// of Request.Members have it. Empty: the node is not a member, or its name is not known.
	Etcd string `json:"etcd,omitempty"`
	// Version is the node's Kubernetes version, without a leading v, and Settings the kubespray release
	// and the digest of the variables with which it was last upgraded (Request.SettingsOf). Only the nodes of Installed and of
	// Request.Members have them. Empty: those of Installed.Request. After a restore of a backup that was made
	// with other variables, Settings of the control planes differs from all digests.
	Version  string `json:"version,omitempty"`
	Settings string `json:"settings,omitempty"`
	// Target is what a run has begun to change the node to; nil: Version and Settings are complete. Only
	// the nodes of Installed and of Request.Members have it. The node can have parts of both.
	Target *Target `json:"target,omitempty"`
	// Patched is the patch level of the node's operating system (see Upgrade.Patch), for the same
	// nodes. Empty: Installed.Patched.
	Patched string `json:"patched,omitempty"`
}

// Progress is the progress of a task, which writes it at most once a second.
type Progress struct {
	Run     string `json:"run"`            // name of the PipelineRun; progress of an older run is ignored
	Task    string `json:"task,omitempty"` // empty: TaskKubespray
	Percent int    `json:"percent"`        // of this task, 0 to 100
	Step    string `json:"step"`           // such as the name of the Ansible task
	// Engine is the name and the release of the playbooks, such as "kubespray v2.31.0". It is empty if
	// the task does not know it.
	Engine string `json:"engine,omitempty"`
}
