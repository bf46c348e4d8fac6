package hosts

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Group and Kind of the objects in whose name we hold hosts.
const (
	Group = "bpa.akraino.org"
	Kind  = "Provisioning"
)

// Host is what an assignment needs to know of a host. All hosts of one assignment are in one namespace. Zero values are facts that are not known.
type Host struct {
	Name string
	UID  string
	// MACs are all hardware addresses of the host, lower case with colons. They can be more than those of NICs: the boot address
	// is known before the hardware is.
	MACs  []string
	NICs  []NIC
	Disks []Disk
	// CPU counts threads, Memory bytes, CPUClock MHz.
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
	// Labels are those of the BareMetalHost.
	Labels map[string]string
	// NetworkData are the addresses that the host's network data give it, in their order there. NetworkUnread says that it has network data
	// and that nobody read them: it may have addresses that are not known here.
	NetworkData   []NetworkAddress
	NetworkUnread bool
	// NetworkUnreadable: the Secret with the network data was looked for, and is missing or makes no sense.
	NetworkUnreadable bool
	// NetworkDataFirst: Metal3 gives the host its operating system, and the network data with it. The addresses that were seen on its cards were those of
	// the inspection's ramdisk: another machine may have them by now.
	NetworkDataFirst bool

	// Holder has the host; nil: nobody.
	Holder *Holder
	// Node is the node that the host is for its holder, if that is one of ours, Set the node set, and Standby that it is not installed.
	Node    string
	Set     string
	Standby bool
	// Installed: we hold the host and its node is part of a cluster, as far as anybody knows. While it is wanted, only its loss takes it from its
	// place, whatever trouble it has.
	Installed bool
	// Unusable says why nobody can use the host, so that "host-1 is ..." and "2 hosts: 2 ..." read well, such as
	// "in error state". Empty: usable.
	Unusable string
	// Bare: the host has no operating system, and Metal3 would put one on it. Who brings no image cannot use it.
	Bare bool
	// Image is the URL of the image that Metal3 has installed on the host. Empty: none, or nobody knows which operating system the host has.
	Image string
	// Imaged: somebody has asked Metal3 to put an operating system on the host (spec.image or spec.customDeploy).
	Imaged bool
	// Trouble is what its holder should know of, in the words of Unusable and with Metal3's message; empty: the host is well.
	Trouble string
	// Lost: there is no getting the host back without a person: it is being deleted or in quarantine.
	Lost bool
}

// NIC is a network card, once, with all its addresses.
type NIC struct {
	Name  string
	MAC   string // lower case with colons
	IPs   []netip.Addr
	Boot  bool
	Speed int    // Gbit/s
	Model string // Metal3's "0xVENDOR 0xDEVICE"
	SRIOV bool   // the model is known to have it
}

// Disk is a disk.
type Disk struct {
	Size int64  // bytes
	Type string // HDD, SSD, NVME
}

// NetworkAddress is an address that network data give to a host.
type NetworkAddress struct {
	Network string // id of the network
	Link    string // id of the link
	MAC     string // of the link, lower case with colons
	IP      netip.Addr
}

// Holder is who has a host: its consumerRef.
type Holder struct {
	Group, Kind, Namespace, Name, UID string
}

func (h Holder) String() string {
	if h.Kind == "" {
		return h.Name
	}
	return h.Kind + " " + h.Name
}

// Owner is the Provisioning in whose name hosts are held. Its UID does not count: a Provisioning that is deleted by force and applied again
// finds its hosts.
type Owner struct {
	Namespace, Name string
}

// OwnerOf is in whose name a request is met.
func OwnerOf(request contract.Request) Owner {
	return Owner{Namespace: request.Namespace, Name: request.Provisioning}
}

// Holds reports whether the host is the owner's own.
func (o Owner) Holds(h Host) bool {
	return h.Holder != nil && h.Holder.Group == Group && h.Holder.Kind == Kind &&
		h.Holder.Namespace == o.Namespace && h.Holder.Name == o.Name
}

// Memory writes a number of bytes as a quantity: 16Gi, 512Mi, 15.5Gi.
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
