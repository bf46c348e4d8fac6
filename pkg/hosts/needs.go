package hosts

import "github.com/akraino-icn/bpa/pkg/tasks/contract"

// shortfall is the first need that a host does not meet, in words that complete "host-1 is ..." and "3 hosts: 2 ..."; empty if it meets all.
func shortfall(n *contract.Needs, h *Host) string {
	switch {
	case h.CPU < n.CPU:
		return "below " + plural(n.CPU, "CPU")
	case h.Memory < n.Memory:
		return "below " + Memory(n.Memory)
	case n.SRIOV && !h.SRIOV:
		return "without SR-IOV"
	case n.QAT && !h.QAT:
		return "without QAT"
	}
	return ""
}
