package assign

import (
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// gap identifies the first requirement that a host does not meet. of is the kind of the
// requirement, and at is its index if the kind is a list. The zero gap means that the host meets
// all requirements.
type gap struct {
	of part
	at int
}

type part int

const (
	ofNothing part = iota
	ofLabel
	ofCPU
	ofMemory
	ofSRIOV
	ofQAT
	ofClock
	ofArchitecture
	ofModel
	ofFlag
	ofDisk
	ofOtherDisk // met alone, but not beside the items before it
	ofNIC
	ofOtherNIC
	ofVendor
	ofProduct
	ofBIOSVendor
	ofBIOSVersion
	ofBIOSDate
)

// meets reports whether a host meets all requirements. For speed, it checks the cheapest
// requirements first and allocates no memory.
func meets(n *contract.Needs, h *hosts.Host) bool {
	return numberGap(n, h) == gap{} && hardwareGap(n, h) == gap{} && labelGap(n, h) == gap{}
}

// shortfall describes the first requirement that a host does not meet, in words that complete
// "host-1 is ..." and "3 hosts: 2 ...". The result is empty if the host meets all requirements.
// Labels are checked first: a user who selects hosts by label is not interested in the other hosts.
func shortfall(n *contract.Needs, h *hosts.Host) string {
	for _, of := range []func(*contract.Needs, *hosts.Host) gap{labelGap, numberGap, hardwareGap} {
		if g := of(n, h); g != (gap{}) {
			return g.text(n)
		}
	}
	return ""
}

func numberGap(n *contract.Needs, h *hosts.Host) gap {
	switch {
	case h.CPU < n.CPU:
		return gap{of: ofCPU}
	case h.Memory < n.Memory:
		return gap{of: ofMemory}
	case n.SRIOV && !h.SRIOV:
		return gap{of: ofSRIOV}
	case n.QAT && !h.QAT:
		return gap{of: ofQAT}
	case h.CPUClock < n.CPUClock:
		return gap{of: ofClock}
	}
	return gap{}
}

func hardwareGap(n *contract.Needs, h *hosts.Host) gap {
	switch {
	case n.Architecture != "" && n.Architecture != h.Architecture:
		return gap{of: ofArchitecture}
	case !matches(n.CPUModel, h.CPUModel):
		return gap{of: ofModel}
	}
	for i, flag := range n.CPUFlags {
		if _, has := slices.BinarySearch(h.CPUFlags, strings.ToLower(flag)); !has {
			return gap{ofFlag, i}
		}
	}
	if g := deviceGap(n, h); g != (gap{}) {
		return g
	}
	return systemGap(n, h)
}

func systemGap(n *contract.Needs, h *hosts.Host) gap {
	switch {
	case !matches(n.Vendor, h.Vendor):
		return gap{of: ofVendor}
	case !matches(n.Product, h.Product):
		return gap{of: ofProduct}
	case n.Firmware == nil:
		return gap{}
	case !matches(n.Firmware.Vendor, h.Firmware.Vendor):
		return gap{of: ofBIOSVendor}
	case !matches(n.Firmware.Version, h.Firmware.Version):
		return gap{of: ofBIOSVersion}
	case !matches(n.Firmware.Date, h.Firmware.Date):
		return gap{of: ofBIOSDate}
	}
	return gap{}
}

func labelGap(n *contract.Needs, h *hosts.Host) gap {
	for i := range n.Labels {
		if !selects(&n.Labels[i], h.Labels) {
			return gap{ofLabel, i}
		}
	}
	return gap{}
}

// selects reports whether the labels of a host match a term. The rules are those of Kubernetes
// label selectors: NotIn also matches if the label is missing. An unknown operator matches nothing.
func selects(t *contract.LabelTerm, labels map[string]string) bool {
	value, has := labels[t.Key]
	switch t.Operator {
	case "In":
		return has && slices.Contains(t.Values, value)
	case "NotIn":
		return !has || !slices.Contains(t.Values, value)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	}
	return false
}
