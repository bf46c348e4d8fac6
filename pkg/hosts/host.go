package hosts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Group and Kind of the objects in whose name we hold hosts.
const (
	Group = "bpa.akraino.org"
	Kind  = "Provisioning"
)

// Host is what an assignment needs to know of a host. All hosts of one assignment are in one namespace.
type Host struct {
	Name string
	UID  string
	// MACs are all hardware addresses of the host, lower case with colons. They can be more than those of NICs: the boot address
	// is known before the hardware is.
	MACs []string
	NICs []NIC
	// CPU counts threads, Memory bytes; 0 if the hardware is not known.
	CPU    int
	Memory int64
	SRIOV  bool
	QAT    bool
	// Holder has the host; nil: nobody.
	Holder *Holder
	// Node is the node that the host is for its holder, if that is one of ours.
	Node string
	// Unusable says why nobody can use the host, so that "host-1 is ..." and "2 hosts: 2 ..." read well, such as
	// "in error state". Empty: usable.
	Unusable string
}

// NIC is a network card, once, with all its addresses.
type NIC struct {
	Name string
	MAC  string // lower case with colons
	IPs  []netip.Addr
	Boot bool
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

// Holds reports whether the host is the owner's own.
func (o Owner) Holds(h Host) bool {
	return h.Holder != nil && h.Holder.Group == Group && h.Holder.Kind == Kind &&
		h.Holder.Namespace == o.Namespace && h.Holder.Name == o.Name
}

// Address is where the host is reached: by the NIC with the given MAC, else the boot NIC, else the first NIC that has an address. Of a NIC
// with several addresses IPv4 comes first. It is the zero Addr if there is none.
func (h Host) Address(mac string) netip.Addr {
	for _, want := range []func(NIC) bool{
		func(n NIC) bool { return mac != "" && n.MAC == mac },
		func(n NIC) bool { return n.Boot },
		func(NIC) bool { return true },
	} {
		for _, nic := range h.NICs {
			if ip := nic.address(); want(nic) && ip.IsValid() {
				return ip
			}
		}
	}
	return netip.Addr{}
}

func (n NIC) address() netip.Addr {
	if i := slices.IndexFunc(n.IPs, netip.Addr.Is4); i >= 0 {
		return n.IPs[i]
	}
	if len(n.IPs) > 0 {
		return n.IPs[0]
	}
	return netip.Addr{}
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
