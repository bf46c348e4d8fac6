package cache

import (
	"fmt"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// stripDetails returns a copy with only the fields that package facts reads. Servers of one kind
// have nearly all values in common, except addresses. Such a value is stored only once for all
// servers.
func stripDetails(d *metal3.HardwareDetails) *metal3.HardwareDetails {
	if d == nil {
		return nil
	}
	kept := &metal3.HardwareDetails{
		RAMMebibytes: d.RAMMebibytes,
		SystemVendor: metal3.HardwareSystemVendor{Manufacturer: same(d.SystemVendor.Manufacturer), ProductName: same(d.SystemVendor.ProductName)},
		Firmware: metal3.Firmware{BIOS: metal3.BIOS{
			Vendor: same(d.Firmware.BIOS.Vendor), Version: same(d.Firmware.BIOS.Version), Date: same(d.Firmware.BIOS.Date),
		}},
		Storage: sameDisks(d.Storage),
		CPU: metal3.CPU{
			Count: d.CPU.Count, Arch: same(d.CPU.Arch), Model: same(d.CPU.Model), ClockMegahertz: d.CPU.ClockMegahertz, Flags: sameFlags(d.CPU.Flags),
		},
	}
	kept.NIC = slices.Grow(kept.NIC, len(d.NIC))
	for _, n := range d.NIC {
		kept.NIC = append(kept.NIC, metal3.NIC{
			Name: same(n.Name), MAC: n.MAC, IP: n.IP, PXE: n.PXE, SpeedGbps: n.SpeedGbps, Model: same(facts.Model(n.Model)),
		})
	}
	return kept
}

// These pools hold values that many hosts share.
var (
	texts  pool[string]
	images pool[*metal3.Image]
	flags  pool[[]string]
	disks  pool[[]metal3.Storage]
)

// same returns the stored copy of a string, which all hosts share.
func same(text string) string {
	if text == "" {
		return ""
	}
	return texts.get(text, func() string { return strings.Clone(text) })
}

func sameImage(url string) *metal3.Image {
	return images.get(url, func() *metal3.Image { return &metal3.Image{URL: same(url)} })
}

// sameFlags returns the CPU flags in the form of facts.Flags. Package facts then does not convert
// them again each time it reads a host.
func sameFlags(of []string) []string {
	if len(of) == 0 {
		return nil
	}
	return flags.get(strings.Join(of, "\n"), func() []string {
		kept := make([]string, 0, len(of))
		for _, f := range of {
			kept = append(kept, same(f))
		}
		return facts.Flags(kept)
	})
}

func sameDisks(of []metal3.Storage) []metal3.Storage {
	if len(of) == 0 {
		return nil
	}
	kept := make([]metal3.Storage, 0, len(of))
	var key strings.Builder
	for _, d := range of {
		kept = append(kept, metal3.Storage{Type: metal3.DiskType(same(string(d.Type))), Rotational: d.Rotational, SizeBytes: d.SizeBytes})
		fmt.Fprintf(&key, "%s %t %d\n", d.Type, d.Rotational, d.SizeBytes)
	}
	return disks.get(key.String(), func() []metal3.Storage { return kept })
}
