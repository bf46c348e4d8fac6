package hosts

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Group and Kind are the API group and the kind of the objects for which BPA holds hosts.
const (
	Group = "bpa.akraino.org"
	Kind  = "Provisioning"
)

// Host has the facts of a host that an assignment needs. All hosts of one assignment are in one
// namespace. A fact with the zero value is unknown.
type Host struct {
	Name string
	UID  string
	// MACs are all hardware addresses of the host, in lower case with colons. There can be more of
	// them than NICs, because the boot address is known before the hardware is.
	MACs  []string
	NICs  []NIC
	Disks []Disk
	// CPU is in threads, Memory in bytes, CPUClock in MHz.
	CPU          int
	Memory       int64
	Architecture string // as Metal3 writes it: x86_64, aarch64
	CPUModel     string
	CPUFlags     []string // sorted
	CPUClock     int
	Vendor       string // of the system
	Product      string // of the system
	Firmware     contract.Firmware
	SRIOV        bool
	QAT          bool
	// Labels are the labels of the BareMetalHost.
	Labels map[string]string
	// NetworkData are the addresses that the host's network data assign to the host, in the order
	// of the data. NetworkUnread reports that the host has network data that have not been read
	// yet. The host may then have further addresses.
	NetworkData   []NetworkAddress
	NetworkUnread bool
	// NetworkUnreadable reports that the Secret with the network data is missing or invalid.
	NetworkUnreadable bool
	// NetworkDataFirst reports that Metal3 installs the operating system of the host and configures
	// it with the network data. The addresses that inspection found on the cards were those of its
	// ramdisk, and another machine may have them now.
	NetworkDataFirst bool

	// Holder holds the host; nil: the host is free.
	Holder *Holder
	// Node is the node for which the host is held, by its name in the new cluster. It is set only
	// if the holder is a Provisioning. Set is the node set of the node. Standby reports that the
	// node is not installed.
	Node    string
	Set     string
	Standby bool
	// Installed reports that the Provisioning holds the host, and that the node of the host is or
	// may be part of the cluster. As long as the request has this node, the node keeps the host
	// until the host is lost, even if the host has Trouble.
	Installed bool
	// UsedBy is the Provisioning whose cluster may still be on the host. The zero value means that
	// the host was not used since it was last reset or received its operating system. See Occupied.
	UsedBy contract.User
	// Unusable explains why the host cannot be used, in words that complete "host-1 is ..." and "2
	// hosts: 2 ...", such as "in error state". Empty: usable.
	Unusable string
	// Bare reports that the host has no operating system and that Metal3 can install one. A request
	// without an OS image cannot use such a host.
	Bare bool
	// Image is the URL of the image that Metal3 has installed on the host. Empty: no image is
	// installed, or it is unknown what is installed.
	Image string
	// Imaged reports that the spec of the host requests an operating system from Metal3 (spec.image
	// or spec.customDeploy).
	Imaged bool
	// Retrying is an error of Metal3, worded like Trouble, after which Metal3 itself repeats the
	// installation of the operating system. The host keeps its place meanwhile. Empty: none.
	Retrying string
	// Leaving reports that Metal3 still has to remove the operating system, because the image was
	// removed from the spec of the host.
	Leaving bool
	// Offline reports that the spec of the host requests that the machine is off. It is false for a
	// lost host, which stays as it is, and for a paused or detached host, because Metal3 does not act
	// on the spec of such a host.
	Offline bool
	// PowerManaged reports that Metal3 can power the machine off: it has a BMC, and the host is
	// neither paused nor detached. SwitchedOff reports that such a machine is off and that its spec
	// requests so; otherwise Metal3 would power it on again.
	PowerManaged, SwitchedOff bool
	// Fence is the request of a Provisioning to power the host off. The zero value: there is none.
	Fence Fence
	// Trouble is a problem of which the holder should know. It is worded like Unusable and also
	// contains Metal3's message. Empty: no problem.
	Trouble string
	// Lost reports that only a user can make the host usable again: it is being deleted, in quarantine
	// or wiped.
	Lost bool
	// Quarantined reports that the host is lost only because it is in quarantine. Its node may work.
	Quarantined bool
	// Wiped reports that Metal3 has removed the operating system under an installed node, or is doing
	// so. Nothing of the cluster is left on the host.
	Wiped bool
}

// Fence is the request to power a lost host off, see contract.AnnotationFenced.
type Fence struct {
	At time.Time
	By contract.User
	// Failed is Metal3's error since the request, in one line; empty: there is none.
	Failed string
}

// NIC is a network card with all its addresses.
type NIC struct {
	Name  string
	MAC   string // lower case with colons
	IPs   []netip.Addr
	Boot  bool
	Speed int    // Gbit/s
	Model string // Metal3's "0xVENDOR 0xDEVICE"
	SRIOV bool   // the model is known to support SR-IOV
}

// Disk is a disk.
type Disk struct {
	Size int64  // bytes
	Type string // HDD, SSD, NVME
}

// NetworkAddress is an address that network data assign to a host.
type NetworkAddress struct {
	Network string // id of the network
	Link    string // id of the link
	MAC     string // MAC address of the link, in lower case with colons
	IP      netip.Addr
}

// Holder is the object that holds a host, as named in the host's consumerRef.
type Holder struct {
	Group, Kind, Namespace, Name, UID string
}

func (h Holder) String() string {
	if h.Kind == "" {
		return h.Name
	}
	return h.Kind + " " + h.Name
}

// HolderName returns the name of the holder; empty: the host is free.
func (h *Host) HolderName() string {
	if h.Holder == nil {
		return ""
	}
	return h.Holder.Name
}

// Owner is a Provisioning for which hosts are held. It does not contain the UID: if a Provisioning
// is deleted by force and applied again, it still holds its hosts.
//
// Pool is the namespace of the hosts if it is another one than that of the Provisioning, and else empty,
// so that owners can be compared.
type Owner struct {
	Namespace, Name, Pool string
}

// OwnerIn returns the Provisioning of this namespace and name as an owner of hosts in namespace pool.
func OwnerIn(pool, namespace, name string) Owner {
	if pool == namespace {
		pool = ""
	}
	return Owner{Namespace: namespace, Name: name, Pool: pool}
}

// OwnerOf returns the Provisioning of a request as an owner.
func OwnerOf(request contract.Request) Owner {
	return OwnerIn(request.HostNamespace(), request.Namespace, request.Provisioning)
}

// HostNamespace returns the namespace of the hosts.
func (o Owner) HostNamespace() string { return cmp.Or(o.Pool, o.Namespace) }

// Holds reports whether the owner holds the host. Provisionings of the same name in other namespaces do
// not count, so the label contract.LabelCluster alone never tells who holds a host of a shared namespace.
func (o Owner) Holds(h Host) bool {
	return h.Holder != nil && h.Holder.Group == Group && h.Holder.Kind == Kind &&
		h.Holder.Namespace == o.Namespace && h.Holder.Name == o.Name
}

// Memory formats a number of bytes as a quantity: 16Gi, 512Mi, 15.5Gi.
func Memory(bytes int64) string {
	const Mi, Gi = 1 << 20, 1 << 30
	switch {
	case bytes >= Gi:
		return short(float64(bytes)/Gi) + "Gi"
	case bytes >= Mi:
		return short(float64(bytes)/Mi) + "Mi"
	}
	return fmt.Sprint(bytes)
}

func short(n float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
}
