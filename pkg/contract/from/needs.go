package from

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

func makeSlots(wanted []v1alpha1.Slot) (slots []contract.Slot, err error) {
	for _, s := range wanted {
		slot := contract.Slot{Name: s.Name, Roles: makeRoles(s.ControlPlane, s.Worker), MAC: string(s.MAC), Taints: makeTaints(s.Taints), Vars: makeVars(s.Vars)}
		if slot.Needs, err = makeNeeds(&s.HostRequirements); err != nil {
			return nil, fmt.Errorf("node %s: %w", s.Name, err)
		}
		slots = append(slots, slot)
	}
	return slots, nil
}

func makeSets(wanted []v1alpha1.NodeSet) (sets []contract.Set, err error) {
	for _, s := range wanted {
		set := contract.Set{
			Name: s.Name, Roles: makeRoles(s.Role.ControlPlane(), s.Role.Worker()), Active: int(s.Count.Active), Standby: int(s.Count.Standby),
			Taints: makeTaints(s.Taints), Vars: makeVars(s.Vars),
		}
		if s.TopologyKey != "" {
			set.Spread = &contract.Spread{TopologyKey: s.TopologyKey, MaxSkew: max(int(s.MaxSkew), 1), Soft: s.WhenUnsatisfiable == corev1.ScheduleAnyway}
		}
		if set.Needs, err = makeNeeds(&s.HostRequirements); err != nil {
			return nil, fmt.Errorf("node set %s: %w", s.Name, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// makeTaints returns taints in the notation of kubectl.
func makeTaints(wanted []v1alpha1.NodeTaint) (taints []string) {
	for _, t := range wanted {
		taints = append(taints, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	return taints
}

// makeVars returns variables of kubespray; nil: there are none.
func makeVars(wanted map[string]apiextensionsv1.JSON) (vars map[string]json.RawMessage) {
	for name, value := range wanted {
		if vars == nil {
			vars = map[string]json.RawMessage{}
		}
		vars[name] = json.RawMessage(value.Raw)
	}
	return vars
}

// makeRoles returns the roles in the order that contract.Slot requires: control-plane, then worker.
func makeRoles(controlPlane, worker bool) (roles []string) {
	if controlPlane {
		roles = append(roles, contract.RoleControlPlane)
	}
	if worker {
		roles = append(roles, contract.RoleWorker)
	}
	return roles
}

// makeNeeds returns the requirements in a normalized form, so that the digest of a request does not
// depend on the notation that the user chose.
func makeNeeds(h *v1alpha1.HostRequirements) (needs contract.Needs, err error) {
	needs = contract.Needs{
		CPU: int(h.CPU), SRIOV: h.SRIOV, QAT: h.QAT,
		Labels: makeTerms(h.Selector), Architecture: h.HostArchitecture(), CPUModel: h.CPUModel, CPUFlags: makeFlags(h.CPUFlags), CPUClock: int(h.CPUClockMHz),
	}
	if needs.Memory, err = bytesOf("memory", h.Memory); err != nil {
		return contract.Needs{}, err
	}
	for _, d := range h.Disks {
		size, err := bytesOf("minSize", d.MinSize)
		if err != nil {
			return contract.Needs{}, err
		}
		needs.Disks = append(needs.Disks, contract.DiskNeed{Count: max(int(d.Count), 1), Size: size, Type: strings.ToUpper(d.Type)})
	}
	for _, n := range h.NICs {
		needs.NICs = append(needs.NICs, contract.NICNeed{Count: max(int(n.Count), 1), Speed: int(n.MinSpeedGbps), Model: n.Model, SRIOV: n.SRIOV})
	}
	if h.System != nil {
		needs.Vendor, needs.Product = h.System.Vendor, h.System.Product
	}
	if h.Firmware != nil {
		needs.Firmware = &contract.Firmware{Vendor: h.Firmware.Vendor, Version: h.Firmware.Version, Date: h.Firmware.Date}
	}
	return needs, nil
}

// makeTerms returns the terms of the selector, sorted and without duplicates.
func makeTerms(s *metav1.LabelSelector) (terms []contract.LabelTerm) {
	if s == nil {
		return nil
	}
	for key, value := range s.MatchLabels {
		terms = append(terms, contract.LabelTerm{Key: key, Operator: string(metav1.LabelSelectorOpIn), Values: []string{value}})
	}
	for _, e := range s.MatchExpressions {
		terms = append(terms, contract.LabelTerm{Key: e.Key, Operator: string(e.Operator), Values: sorted(e.Values)})
	}
	compare := func(a, b contract.LabelTerm) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator), slices.Compare(a.Values, b.Values))
	}
	slices.SortFunc(terms, compare)
	return slices.CompactFunc(terms, func(a, b contract.LabelTerm) bool { return compare(a, b) == 0 })
}

// makeFlags returns the CPU flags in the notation of Linux, sorted and without duplicates.
func makeFlags(flags []string) []string {
	lower := make([]string, len(flags))
	for i, flag := range flags {
		lower[i] = strings.ToLower(flag)
	}
	return sorted(lower)
}

// sorted returns a sorted copy of texts without duplicates; nil if texts is empty.
func sorted(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	out := slices.Clone(texts)
	slices.Sort(out)
	return slices.Compact(out)
}

func bytesOf(field, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", field, text, err)
	}
	return q.Value(), nil
}

// makeOSImage converts the image of the spec. It sets the address of an uploaded image to the
// image's URL in the depot; without a depot, the address is empty.
func makeOSImage(o *v1alpha1.OSImageSpec, depot string) *contract.OSImage {
	if o == nil {
		return nil
	}
	made := &contract.OSImage{
		URL: o.URL, Checksum: o.Checksum, ChecksumType: o.ChecksumType, Format: o.Format,
		UserData: o.UserData, NetworkData: o.NetworkData, MetaData: o.MetaData,
	}
	if o.Upload == "" || depot == "" {
		return made
	}
	// The image and its checksum file are at these paths of the depot. The checksum file contains
	// the digest next to the name of the image; Ironic finds the digest by this name. The checksum
	// type must be auto: with type sha256, an Ironic whose conductor downloads images
	// (image_download_source = local) would use the URL of the checksum file as the digest.
	made.URL = depot + "/files/os_images/" + o.Upload
	made.Checksum, made.ChecksumType, made.Uploaded = made.URL+".sha256sum", "auto", true
	return made
}
