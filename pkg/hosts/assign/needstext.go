package assign

import (
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// text describes a gap in words that complete "host-1 is ..." and "3 hosts: 2 ...". The text is the
// same for every host with this gap.
func (g gap) text(n *contract.Needs) string {
	switch g.of {
	case ofLabel:
		return missingLabel(n.Labels[g.at])
	case ofCPU:
		return "below " + plural(n.CPU, "CPU")
	case ofMemory:
		return "below " + hosts.Memory(n.Memory)
	case ofSRIOV:
		return "without SR-IOV"
	case ofQAT:
		return "without QAT"
	case ofClock:
		return fmt.Sprintf("below %d MHz", n.CPUClock)
	case ofArchitecture:
		return "not " + n.Architecture
	case ofModel:
		return "not of CPU model " + n.CPUModel
	case ofFlag:
		return "without CPU flag " + n.CPUFlags[g.at]
	case ofDisk:
		return "with fewer than " + diskText(n.Disks[g.at])
	case ofOtherDisk:
		return besideText(n.Disks, g.at, diskText)
	case ofNIC:
		return "with fewer than " + nicText(n.NICs[g.at])
	case ofOtherNIC:
		return besideText(n.NICs, g.at, nicText)
	case ofVendor:
		return "not of vendor " + n.Vendor
	case ofProduct:
		return "not of product " + n.Product
	case ofBIOSVendor:
		return "without BIOS vendor " + n.Firmware.Vendor
	case ofBIOSVersion:
		return "without BIOS version " + n.Firmware.Version
	case ofBIOSDate:
		return "without BIOS date " + n.Firmware.Date
	}
	return ""
}

// needsText describes the requirements for a host, such as "8 CPUs, 16Gi, SR-IOV, CPU flag
// avx512f". It is empty if there are none.
func needsText(n contract.Needs) string {
	var parts []string
	add := func(asked bool, text string) {
		if asked {
			parts = append(parts, text)
		}
	}
	add(n.CPU > 0, plural(n.CPU, "CPU"))
	add(n.Memory > 0, hosts.Memory(n.Memory))
	add(n.SRIOV, "SR-IOV")
	add(n.QAT, "QAT")
	add(n.CPUClock > 0, fmt.Sprintf("%d MHz", n.CPUClock))
	add(n.Architecture != "", n.Architecture)
	add(n.CPUModel != "", "CPU model "+n.CPUModel)
	add(len(n.CPUFlags) == 1, "CPU flag "+firstFew(n.CPUFlags))
	add(len(n.CPUFlags) > 1, "CPU flags "+firstFew(n.CPUFlags))
	for _, d := range n.Disks {
		add(true, diskText(d))
	}
	for _, c := range n.NICs {
		add(true, nicText(c))
	}
	add(n.Vendor != "", "vendor "+n.Vendor)
	add(n.Product != "", "product "+n.Product)
	if f := n.Firmware; f != nil {
		add(f.Vendor != "", "BIOS vendor "+f.Vendor)
		add(f.Version != "", "BIOS version "+f.Version)
		add(f.Date != "", "BIOS date "+f.Date)
	}
	for _, t := range n.Labels {
		add(true, wantedLabel(t))
	}
	return strings.Join(parts, ", ")
}

// wantedLabel describes a required label: "label rack in (r1, r2)", "no label gpu".
func wantedLabel(t contract.LabelTerm) string {
	switch t.Operator {
	case "In":
		return "label " + labelValues(t)
	case "NotIn":
		return "not label " + labelValues(t)
	case "DoesNotExist":
		return "no label " + t.Key
	}
	return "label " + t.Key
}

// missingLabel describes the gap of a host that does not meet the term: "without label rack in (r1,
// r2)", "with label gpu".
func missingLabel(t contract.LabelTerm) string {
	switch t.Operator {
	case "In":
		return "without label " + labelValues(t)
	case "NotIn":
		return "with label " + labelValues(t)
	case "DoesNotExist":
		return "with label " + t.Key
	}
	return "without label " + t.Key
}

// labelValues describes the values of a term: "rack=r1", "rack in (r1, r2)".
func labelValues(t contract.LabelTerm) string {
	if len(t.Values) == 1 {
		return t.Key + "=" + t.Values[0]
	}
	return fmt.Sprintf("%s in (%s)", t.Key, firstFew(t.Values))
}

// diskText describes a disk requirement: "2 NVMe disks of 960G".
func diskText(d contract.DiskNeed) string {
	noun := "disk"
	switch d.Type {
	case "":
	case "NVME":
		noun = "NVMe disk"
	default:
		noun = d.Type + " disk"
	}
	text := plural(d.Count, noun)
	if d.Size > 0 {
		text += " of " + diskSize(d.Size)
	}
	return text
}

// nicText describes a network card requirement: "2 NICs of 25 Gbit/s and model 0x8086 0x158b with
// SR-IOV".
func nicText(c contract.NICNeed) string {
	text := plural(c.Count, "NIC")
	var of []string
	if c.Speed > 0 {
		of = append(of, fmt.Sprintf("%d Gbit/s", c.Speed))
	}
	if c.Model != "" {
		of = append(of, "model "+c.Model)
	}
	if len(of) > 0 {
		text += " of " + strings.Join(of, " and ")
	}
	if c.SRIOV {
		text += " with SR-IOV"
	}
	return text
}

// diskSize formats bytes in the decimal units of disk vendors, such as 960G or 1.9T. Two kinds of
// sizes are formatted in binary units: sizes below 1G, and sizes that are a whole number of Gi but
// not of G.
func diskSize(bytes int64) string {
	const G, T, Gi = 1e9, 1e12, 1 << 30
	switch {
	case bytes < G || bytes%Gi == 0 && bytes%G != 0:
		return hosts.Memory(bytes)
	case bytes >= T:
		return fmt.Sprintf("%.4gT", float64(bytes)/T)
	}
	return fmt.Sprintf("%.4gG", float64(bytes)/G)
}
