package facts

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// hardware sets the hardware facts. data or the status of the host may be missing or incomplete. A
// list is taken completely from one of the two, never from both.
func hardware(h *hosts.Host, host *metal3.BareMetalHost, data *metal3.HardwareData, boot string) {
	first, second := &metal3.HardwareDetails{}, &metal3.HardwareDetails{}
	if host.Status.HardwareDetails != nil {
		second = host.Status.HardwareDetails
	}
	if data != nil && data.Spec.HardwareDetails != nil {
		first = data.Spec.HardwareDetails
	}
	h.CPU = max(0, cmp.Or(first.CPU.Count, second.CPU.Count))
	h.Memory = int64(max(0, cmp.Or(first.RAMMebibytes, second.RAMMebibytes))) << 20
	h.Architecture = architecture(cmp.Or(first.CPU.Arch, second.CPU.Arch, host.Spec.Architecture))
	h.CPUModel = cmp.Or(first.CPU.Model, second.CPU.Model)
	h.CPUClock = megahertz(cmp.Or(first.CPU.ClockMegahertz, second.CPU.ClockMegahertz))
	h.CPUFlags = Flags(longer(first.CPU.Flags, second.CPU.Flags))
	h.Vendor = cmp.Or(first.SystemVendor.Manufacturer, second.SystemVendor.Manufacturer)
	h.Product = cmp.Or(first.SystemVendor.ProductName, second.SystemVendor.ProductName)
	bios, other := first.Firmware.BIOS, second.Firmware.BIOS
	h.Firmware = contract.Firmware{
		Vendor: cmp.Or(bios.Vendor, other.Vendor), Version: cmp.Or(bios.Version, other.Version), Date: cmp.Or(bios.Date, other.Date),
	}
	h.NICs = nics(longer(first.NIC, second.NIC), boot)
	h.Disks = disks(longer(first.Storage, second.Storage))
}

// longer returns the first list, or the second one if the first is empty.
func longer[T any](first, second []T) []T {
	if len(first) > 0 {
		return first
	}
	return second
}

// architecture returns the name that Metal3 uses for an architecture. It also accepts the names
// that Go uses.
func architecture(name string) string {
	switch name {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return name
}

func megahertz(clock metal3.ClockSpeed) int {
	const most = 1e6
	if clock > 0 && clock < most {
		return int(math.Round(float64(clock)))
	}
	return 0
}

// Flags returns CPU flags in the form that package hosts needs: sorted and in lower case. A list
// that already has this form is not copied.
func Flags(flags []string) []string {
	if slices.IsSorted(flags) && !slices.ContainsFunc(flags, hasUpper) {
		return flags
	}
	sorted := make([]string, 0, len(flags))
	for _, f := range flags {
		sorted = append(sorted, strings.ToLower(f))
	}
	slices.Sort(sorted)
	return sorted
}

// hasUpper reports whether ToLower may change a flag. It returns true for any flag with a character
// outside of ASCII.
func hasUpper(flag string) bool {
	for i := range len(flag) {
		if c := flag[i]; 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// nics lists each network card once. Metal3 reports a card with two addresses twice.
func nics(reported []metal3.NIC, boot string) []hosts.NIC {
	var found []hosts.NIC
	for _, n := range reported {
		mac := strings.ToLower(n.MAC)
		if mac == "" {
			continue
		}
		i := slices.IndexFunc(found, func(f hosts.NIC) bool { return f.MAC == mac && f.Name == n.Name })
		if i < 0 {
			i = len(found)
			found = append(found, hosts.NIC{Name: n.Name, MAC: mac})
		}
		f := &found[i]
		f.Boot = f.Boot || n.PXE || mac == boot
		f.Speed = max(f.Speed, n.SpeedGbps)
		f.Model = cmp.Or(f.Model, Model(n.Model))
		f.SRIOV = f.SRIOV || knownSRIOV(f.Model)
		if ip, ok := address(n.IP); ok && !slices.Contains(f.IPs, ip) {
			f.IPs = append(f.IPs, ip)
		}
	}
	return found
}

// address parses an address that other machines can reach. It rejects link-local addresses and
// addresses with a zone.
func address(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(text)
	ip = ip.Unmap()
	return ip, err == nil && ip.IsGlobalUnicast() && ip.Zone() == ""
}

// disks lists the disks that have a size. Older versions of Metal3 report only whether a disk is
// rotational.
func disks(reported []metal3.Storage) []hosts.Disk {
	var found []hosts.Disk
	for _, d := range reported {
		if d.SizeBytes <= 0 {
			continue
		}
		kind := d.Type
		if kind == "" && d.Rotational {
			kind = metal3.HDD
		}
		found = append(found, hosts.Disk{Size: int64(d.SizeBytes), Type: string(kind)})
	}
	return found
}
