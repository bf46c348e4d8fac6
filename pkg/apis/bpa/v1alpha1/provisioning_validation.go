package v1alpha1

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"
)

// MaxNameLength leaves room for what is made of a Provisioning's name: Secrets, runs, service accounts and label values (63 bytes at most).
const MaxNameLength = 40

var _ apis.Validatable = (*Provisioning)(nil)

// Validate says what is wrong with the spec and what to do about it, all at once. Findings of level warning refuse nothing.
//
// An update passes as long as every field with an error had the same error before and is left as it is; see ratchet.
func (p *Provisioning) Validate(ctx context.Context) *apis.FieldError {
	if apis.IsInDelete(ctx) || apis.IsInStatusUpdate(ctx) || p.DeletionTimestamp != nil {
		return nil
	}
	old, _ := apis.GetBaseline(ctx).(*Provisioning)
	if old != nil { // it can be from a time when the webhook that fills in was missing
		old = old.DeepCopy()
		old.SetDefaults(ctx)
	}
	if old != nil && equality.Semantic.DeepEqual(old.Spec, p.Spec) && equality.Semantic.DeepEqual(old.Labels, p.Labels) {
		return nil
	}
	errs := p.validate()
	if old != nil {
		errs = ratchet(errs, old, p)
	}
	return errs.Also(p.warnOfChange(old))
}

func (p *Provisioning) validate() *apis.FieldError {
	return p.validateMetadata().Also(p.Spec.validate().ViaField("spec"))
}

func (p *Provisioning) validateMetadata() (errs *apis.FieldError) {
	if p.Name != "" {
		if len(p.Name) > MaxNameLength {
			errs = errs.Also(problem("metadata.name",
				fmt.Sprintf("use a name of at most %d characters: names of Secrets and runs are made of it", MaxNameLength),
				"%d characters are too many", len(p.Name)))
		} else if !isLabel(p.Name) {
			errs = errs.Also(problem("metadata.name", labelRule, "%q is no DNS label", p.Name))
		}
	}
	if cluster, ok := p.Labels[LabelCluster]; ok && !isLabel(cluster) {
		errs = errs.Also(problem("metadata.labels.cluster", labelRule, "%q is no DNS label", cluster))
	}
	return errs
}

// warnOfChange says that a running cluster will not follow.
func (p *Provisioning) warnOfChange(old *Provisioning) *apis.FieldError {
	if old == nil || old.Status.InstalledDigest == "" || equality.Semantic.DeepEqual(clusterOf(old.Spec), clusterOf(p.Spec)) {
		return nil
	}
	return warning("spec", "this version of BPA does not act on changes of an installed cluster; to install it anew, delete the Provisioning and apply it again")
}

// clusterOf is what in a spec makes the cluster. Another value of anything else makes no other cluster of it: pausing is obeyed, standby hosts and
// the image are for hosts that come later, access by SSH, depot and limits are for later runs, and the order of workers makes no difference.
// It leaves out what the digest of the controller's request does (from.Digest, whose test compares the two).
func clusterOf(all ProvisioningSpec) *ProvisioningSpec {
	spec := all.DeepCopy()
	spec.Paused, spec.KUDPlugins = false, nil
	spec.OSImage, spec.OperatingSystem = nil, ""
	spec.SSH, spec.Depot, spec.Timeouts = SSHSpec{}, DepotSpec{}, TimeoutsSpec{}
	slices.SortStableFunc(spec.Workers, func(a, b map[string]Worker) int { return slices.Compare(sortedKeys(a), sortedKeys(b)) })
	spec.NodeSets = slices.DeleteFunc(spec.NodeSets, func(s NodeSet) bool { return s.Count.Active == 0 })
	for i := range spec.NodeSets {
		spec.NodeSets[i].Count.Standby = 0
	}
	slices.SortStableFunc(spec.NodeSets, compareSets)
	return spec
}

// compareSets puts those with control plane nodes first, in their order, and then the others by name.
func compareSets(a, b NodeSet) int {
	switch controlPlane, other := a.Role.ControlPlane(), b.Role.ControlPlane(); {
	case controlPlane && other:
		return 0
	case controlPlane:
		return -1
	case other:
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}

func (s *ProvisioningSpec) validate() (errs *apis.FieldError) {
	return errs.Also(
		s.validateNodes(),
		s.validateSets(),
		s.validateSubnets(),
		s.OSImage.validate().ViaField("osImage"),
		s.validateAccess(),
		s.Kubernetes.validate().ViaField("kubernetes"),
		s.Kubespray.validate().ViaField("kubespray"),
		s.SSH.validate().ViaField("ssh"),
		s.Depot.Validate().ViaField("depot"),
		validateSystem(s.OperatingSystem),
		s.Timeouts.validate().ViaField("timeouts"),
		validatePlugins(s.KUDPlugins),
	)
}

const labelRule = "use lower case letters, digits and dashes, at most 63, with a letter or digit at both ends"

// isLabel reports whether text is a DNS label. A node name is one: it becomes a host name, an inventory name and a label value.
func isLabel(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }

// problem is one finding: where, what to do, and what is wrong.
func problem(path, advice, format string, args ...any) *apis.FieldError {
	return &apis.FieldError{Message: fmt.Sprintf(format, args...), Paths: []string{path}, Details: advice}
}

// warning is a finding that refuses nothing. It is one line, since a warning travels in an HTTP header.
func warning(path, format string, args ...any) *apis.FieldError {
	message := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	return (&apis.FieldError{Message: message, Paths: []string{path}}).At(apis.WarningLevel)
}
