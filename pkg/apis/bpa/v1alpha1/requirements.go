package v1alpha1

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Architectures maps every name that a spec may use to Metal3's name. It contains the architectures
// that kubespray supports.
var Architectures = map[string]string{"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}

// DiskTypes are Metal3's names of the types of disks.
var DiskTypes = []string{"HDD", "SSD", "NVME"}

// HostArchitecture returns the architecture in Metal3's notation; empty if none is required.
func (h *HostRequirements) HostArchitecture() string {
	if known, ok := Architectures[h.Architecture]; ok {
		return known
	}
	return h.Architecture
}

// setDefaults fills in counts, and converts disk types to Metal3's notation.
func (h *HostRequirements) setDefaults() {
	for i := range h.Disks {
		orDefault(&h.Disks[i].Count, 1)
		if known := strings.ToUpper(h.Disks[i].Type); slices.Contains(DiskTypes, known) {
			h.Disks[i].Type = known
		}
	}
	for i := range h.NICs {
		orDefault(&h.NICs[i].Count, 1)
	}
}

// IsNothing reports whether there are no requirements, so that every host meets them. An empty
// selector, which selects everything, is no requirement.
func (h *HostRequirements) IsNothing() bool {
	asked := *h
	if asked.Selector != nil && len(asked.Selector.MatchLabels)+len(asked.Selector.MatchExpressions) == 0 {
		asked.Selector = nil
	}
	if asked.System != nil && *asked.System == (SystemRequirement{}) {
		asked.System = nil
	}
	if asked.Firmware != nil && *asked.Firmware == (FirmwareRequirement{}) {
		asked.Firmware = nil
	}
	return equality.Semantic.DeepEqual(asked, HostRequirements{})
}

// and returns the combination of h and o: a host meets the combination only if it meets both. Of
// two numbers the combination has the greater one, and of two lists it has every item. The method
// returns an error that names the field if h and o contradict each other.
func (h *HostRequirements) and(o *HostRequirements) (HostRequirements, error) {
	if field, mine, theirs, ok := h.Contradiction(o); ok {
		return HostRequirements{}, fmt.Errorf("%s: no host is both %q and %q", field, mine, theirs)
	}
	both, other := h.DeepCopy(), o.DeepCopy()
	both.CPU = max(h.CPU, o.CPU)
	both.CPUClockMHz = max(h.CPUClockMHz, o.CPUClockMHz)
	both.SRIOV, both.QAT = h.SRIOV || o.SRIOV, h.QAT || o.QAT
	both.Selector = selectBoth(both.Selector, other.Selector)
	orDefault(&both.Architecture, o.Architecture)
	orDefault(&both.CPUModel, o.CPUModel)
	both.CPUFlags = union(both.CPUFlags, other.CPUFlags)
	both.Disks = union(both.Disks, other.Disks)
	both.NICs = union(both.NICs, other.NICs)
	both.andMakers(other)
	var err error
	both.Memory, err = greater(h.Memory, o.Memory)
	return *both, err
}

func (h *HostRequirements) andMakers(o *HostRequirements) {
	if h.System == nil {
		h.System = o.System
	} else if o.System != nil {
		orDefault(&h.System.Vendor, o.System.Vendor)
		orDefault(&h.System.Product, o.System.Product)
	}
	if h.Firmware == nil {
		h.Firmware = o.Firmware
	} else if o.Firmware != nil {
		orDefault(&h.Firmware.Vendor, o.Firmware.Vendor)
		orDefault(&h.Firmware.Version, o.Firmware.Version)
		orDefault(&h.Firmware.Date, o.Firmware.Date)
	}
}

// Contradiction compares the string requirements of h and o, and returns the first field for which
// they require different values. Such requirements cannot be combined, because a contract.Request
// has only one value for the field. The fields are compared in the order in which Texts returns
// them.
func (h *HostRequirements) Contradiction(o *HostRequirements) (field, mine, theirs string, found bool) {
	other := o.Texts()
	for i, t := range h.Texts() {
		if t.Text != "" && other[i].Text != "" && !strings.EqualFold(t.Text, other[i].Text) {
			return t.Field, t.Text, other[i].Text, true
		}
	}
	return "", "", "", false
}

// FieldText is a requirement whose value is a string. Field is its path below the node.
//
// +k8s:deepcopy-gen=false
type FieldText struct{ Field, Text string }

// Texts returns the requirements whose values are strings. The fields and their order are always
// the same, so that two results can be compared item by item.
func (h *HostRequirements) Texts() []FieldText {
	system, firmware := SystemRequirement{}, FirmwareRequirement{}
	if h.System != nil {
		system = *h.System
	}
	if h.Firmware != nil {
		firmware = *h.Firmware
	}
	return []FieldText{
		{"architecture", h.HostArchitecture()},
		{"cpuModel", h.CPUModel},
		{"system.vendor", system.Vendor},
		{"system.product", system.Product},
		{"firmware.vendor", firmware.Vendor},
		{"firmware.version", firmware.Version},
		{"firmware.date", firmware.Date},
	}
}

// selectBoth returns a selector for the hosts that both a and b select.
func selectBoth(a, b *metav1.LabelSelector) *metav1.LabelSelector {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	for _, key := range slices.Sorted(maps.Keys(b.MatchLabels)) {
		value := b.MatchLabels[key]
		if a.MatchLabels[key] != value {
			a.MatchExpressions = append(a.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
	}
	a.MatchExpressions = union(a.MatchExpressions, b.MatchExpressions)
	return a
}

// union returns every item of both lists once, in order; the items of a come first.
func union[T any](a, b []T) []T {
	for _, item := range b {
		if !contains(a, item) {
			a = append(a, item)
		}
	}
	return a
}

func contains[T any](list []T, item T) bool {
	for _, other := range list {
		if equality.Semantic.DeepEqual(other, item) {
			return true
		}
	}
	return false
}

// greater returns the greater of two quantities of memory. An empty string means that there is no
// requirement.
func greater(a, b string) (string, error) {
	var most resource.Quantity
	text := ""
	for _, t := range []string{a, b} {
		if t == "" {
			continue
		}
		q, err := resource.ParseQuantity(t)
		if err != nil {
			return "", fmt.Errorf("memory %q: %w", t, err)
		}
		if text == "" || q.Cmp(most) > 0 {
			most, text = q, t
		}
	}
	return text, nil
}
