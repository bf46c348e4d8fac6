package contract

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Request is what a run is asked to do, made from a Provisioning by the reconciler and read by every task.
type Request struct {
	// Provisioning, Namespace and UID name the object that the run works for; hosts are claimed in its name.
	Provisioning string `json:"provisioning"`
	Namespace    string `json:"namespace"`
	UID          string `json:"uid"`
	// Cluster is the cluster's name for people: ICN's label "cluster", else the name of the Provisioning.
	Cluster string `json:"cluster"`
	// Slots are the nodes that are wanted by name, masters first, in the order of the spec.
	Slots []Slot `json:"slots"`
	// Sets are the nodes that are wanted by number, in the order of the spec.
	Sets []Set `json:"sets,omitempty"`
	// Installed are the BareMetalHosts, sorted, on which a node of this cluster is or may be installed: as long as the node is wanted, only their
	// loss takes them from their place. It is no part of the digest.
	Installed []string `json:"installed,omitempty"`
	// Lost are the names of nodes that are replaced since their hosts are lost: the cluster forgets them unless they are Ready there. It is no
	// part of the digest.
	Lost []string `json:"lost,omitempty"`
	// Release is the kubespray release that the Provisioning picks, as in the names of the Tasks; empty: the Tasks without a release.
	Release string `json:"release,omitempty"`
	// OSImage is what hosts are given that have no operating system yet; nil: only hosts that have one count.
	OSImage *OSImage `json:"osImage,omitempty"`
	// OperatingSystem is what hosts run, ID-VERSION_ID of os-release: ubuntu-24.04. Empty: nobody said.
	OperatingSystem string `json:"operatingSystem,omitempty"`
	// Access says by which address nodes are reached.
	Access Access `json:"access,omitzero"`

	KubernetesVersion string `json:"kubernetesVersion"` // without a leading v: 1.35.4
	NetworkPlugin     string `json:"networkPlugin"`
	PodSubnet         string `json:"podSubnet"`     // CIDR
	ServiceSubnet     string `json:"serviceSubnet"` // CIDR
	SSHUser           string `json:"sshUser"`
	SSHPort           int    `json:"sshPort"`
	// DepotURL is the site's store without a trailing slash; empty: the Internet.
	DepotURL string `json:"depotURL,omitempty"`
	// DepotCA is the certificate, PEM, of who signs the depot's; empty: the nodes know it, or the depot speaks plain HTTP.
	DepotCA string `json:"depotCA,omitempty"`
	// DepotOfSite: address and certificate are those of the site's settings and not of whoever wrote the Provisioning, who must get no token for it.
	DepotOfSite bool `json:"depotOfSite,omitempty"`
	// DepotChecksums: the depot's own digests count instead of those in kubespray's tables.
	DepotChecksums bool `json:"depotChecksums,omitempty"`
	// Connected: what the depot lacks may be fetched from the Internet.
	Connected bool `json:"connected,omitempty"`
	// Vars are the person's own kubespray variables, merged last.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
}

// Slot is one node that is wanted by name.
type Slot struct {
	Name  string   `json:"name"`  // node name, a DNS label
	Roles []string `json:"roles"` // RoleControlPlane, RoleWorker or both, in this order
	// MAC pins the slot to a host, lower case with colons; empty: any host that fits.
	MAC string `json:"mac,omitempty"`
	Needs
}

// Set is a number of nodes that are alike. Their names are the set's name, a dash and a number from 1; a node keeps its name as long as it has
// its host.
type Set struct {
	Name  string   `json:"name"` // a DNS label
	Roles []string `json:"roles"`
	// Active nodes are installed; Standby hosts are only held, to take the place of an active one that is lost.
	Active  int `json:"active"`
	Standby int `json:"standby,omitempty"`
	Needs
	Spread *Spread `json:"spread,omitempty"`
}

// Spread keeps the nodes of a set apart. A domain is a value of the label TopologyKey among the usable hosts that meet the set's needs and
// are free or ours.
type Spread struct {
	TopologyKey string `json:"topologyKey"`
	// MaxSkew is by how many nodes the fullest domain may exceed the emptiest; at least 1. It counts active and standby together.
	MaxSkew int `json:"maxSkew"`
	// Soft: rather an uneven spread, or a host without the label, than no assignment.
	Soft bool `json:"soft,omitempty"`
}

// Needs are what a host must have. Zero values ask for nothing; of a fact that is not known nobody has any.
type Needs struct {
	CPU    int   `json:"cpu,omitempty"`    // at least so many threads
	Memory int64 `json:"memory,omitempty"` // at least so many bytes
	SRIOV  bool  `json:"sriov,omitempty"`
	QAT    bool  `json:"qat,omitempty"`

	Labels       []LabelTerm `json:"labels,omitempty"`       // all must hold for the labels of the BareMetalHost
	Architecture string      `json:"architecture,omitempty"` // as Metal3 writes it: x86_64, aarch64
	CPUModel     string      `json:"cpuModel,omitempty"`     // a pattern
	CPUFlags     []string    `json:"cpuFlags,omitempty"`     // all, such as avx512f
	CPUClock     int         `json:"cpuClock,omitempty"`     // at least so many MHz
	Disks        []DiskNeed  `json:"disks,omitempty"`        // each is met by itself: one disk may count for two
	NICs         []NICNeed   `json:"nics,omitempty"`         // as Disks
	Vendor       string      `json:"vendor,omitempty"`       // of the system, a pattern
	Product      string      `json:"product,omitempty"`      // of the system, a pattern
	Firmware     *Firmware   `json:"firmware,omitempty"`
}

// Patterns match a whole text, upper or lower case, with * for any characters and ? for one.

// LabelTerm is one requirement on labels, as in a Kubernetes label selector.
type LabelTerm struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists, DoesNotExist
	Values   []string `json:"values,omitempty"`
}

// DiskNeed asks for a number of disks.
type DiskNeed struct {
	Count int    `json:"count"`          // at least 1
	Size  int64  `json:"size,omitempty"` // each at least so many bytes
	Type  string `json:"type,omitempty"` // HDD, SSD or NVME
}

// NICNeed asks for a number of network cards; one with two addresses counts once.
type NICNeed struct {
	Count int    `json:"count"`           // at least 1
	Speed int    `json:"speed,omitempty"` // each at least so many Gbit/s
	Model string `json:"model,omitempty"` // a pattern for Metal3's "0xVENDOR 0xDEVICE", such as "0x8086 0x158b"
	SRIOV bool   `json:"sriov,omitempty"` // each known to have SR-IOV
}

// Firmware are patterns for the BIOS.
type Firmware struct {
	Vendor  string `json:"vendor,omitempty"`
	Version string `json:"version,omitempty"`
	Date    string `json:"date,omitempty"`
}

// OSImage is an operating system for hosts that Metal3 calls available.
type OSImage struct {
	URL          string `json:"url"`
	Checksum     string `json:"checksum,omitempty"`     // a digest, or the URL of one
	ChecksumType string `json:"checksumType,omitempty"` // md5, sha256, sha512, auto
	// Uploaded: the image is the depot's, and the digest that seed-registry has seen can stand for Checksum (see WithDigest).
	Uploaded bool   `json:"uploaded,omitempty"`
	Format   string `json:"format,omitempty"` // raw, qcow2, vdi, vmdk, live-iso
	// UserData, NetworkData and MetaData are names of Secrets in the same namespace, in which $(host) stands for the BareMetalHost's name
	// and $(node) for the node's. An empty one leaves what the host has.
	UserData    string `json:"userData,omitempty"`
	NetworkData string `json:"networkData,omitempty"`
	MetaData    string `json:"metaData,omitempty"`
}

var digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// WithDigest gives an uploaded image its digest (SHA-256 in hexadecimal; None or empty: not known) instead of the address of a file with the
// digest: that file would come the same way as the image.
func (i OSImage) WithDigest(sum string) (OSImage, error) {
	if !i.Uploaded || sum == "" || sum == None {
		return i, nil
	}
	if !digestPattern.MatchString(sum) {
		return i, fmt.Errorf("%q is no SHA-256 of an OS image", sum)
	}
	i.Checksum, i.ChecksumType = sum, "sha256"
	return i, nil
}

// Access says by which address nodes are reached.
type Access struct {
	// Subnets, CIDRs: a node's address is in the first; with a second one of the other family, its second address is in that.
	Subnets []string `json:"subnets,omitempty"`
	// Interface is the id of the network, or of the link, in a host's network data whose address counts; empty: its only one.
	Interface string `json:"interface,omitempty"`
}

// Node is a wanted node with the host that was claimed for it.
type Node struct {
	Name    string   `json:"name"`
	Roles   []string `json:"roles"`
	Host    string   `json:"host"`    // name of the BareMetalHost
	HostUID string   `json:"hostUID"` // its UID: SSH host keys are pinned to it
	Address string   `json:"address"` // IP address by which the host is reached; empty on standby if it has none yet
	// Address6 is the IPv6 address of a host that is reached by IPv4 and has both.
	Address6 string `json:"address6,omitempty"`
	// MACs are the hardware addresses of the host's network cards, lower case with colons: the machine that answers at Address must have one of them. Empty:
	// Metal3 knows none, or an older build of select-hosts wrote the node.
	MACs    []string `json:"macs,omitempty"`
	Set     string   `json:"set,omitempty"`     // the node set it belongs to
	Standby bool     `json:"standby,omitempty"` // held, not installed
}

// Progress is how far a task is; the kubespray task writes it, at most once a second.
type Progress struct {
	Run     string `json:"run"`     // PipelineRun it belongs to: what an older run wrote counts no more
	Percent int    `json:"percent"` // of this task, 0 to 100
	Step    string `json:"step"`    // such as the name of the Ansible task
}
