package admission

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// CheckSoftware returns all errors in the spec, each with advice.
func CheckSoftware(ctx context.Context, s *v1alpha1.Software) (errs *apis.FieldError) {
	if apis.IsInDelete(ctx) || apis.IsInStatusUpdate(ctx) || s.DeletionTimestamp != nil {
		return nil
	}
	if old, _ := apis.GetBaseline(ctx).(*v1alpha1.Software); old != nil && old.ClusterName() == s.ClusterName() && equality.Semantic.DeepEqual(old.Spec, s.Spec) {
		return nil
	}
	return validateClusterName(s).Also(validatePackages(&s.Spec).ViaField("spec"))
}

// validateClusterName returns errors in the name of the cluster.
func validateClusterName(s *v1alpha1.Software) *apis.FieldError {
	name, path := s.ClusterName(), "metadata.labels.cluster"
	if s.Spec.Cluster != "" {
		path = "spec.cluster"
	}
	if name == "" {
		return problem("spec.cluster", "write the name of a Provisioning in the same namespace, or its label \"cluster\", into spec.cluster "+
			"or into the Software's label \"cluster\"", "the Software names no cluster")
	}
	if !isLabel(name) {
		return problem(path, labelRule, "%q is not the name of a cluster", name)
	}
	return nil
}

func validatePackages(s *v1alpha1.SoftwareSpec) *apis.FieldError {
	return validateEntries(s.MasterSoftware).ViaField("masterSoftware").Also(validateEntries(s.WorkerSoftware).ViaField("workerSoftware"))
}

// validateEntries returns the errors of one list.
func validateEntries(entries []v1alpha1.SoftwareEntry) (errs *apis.FieldError) {
	first := map[string]int{}
	for i, e := range entries {
		errs = errs.Also(CheckPackage(e).ViaIndex(i))
		if before, again := first[e.Name]; again && e.Invalid == "" {
			errs = errs.Also(problem("", "write each package once", "package %q is also entry %d", v1alpha1.Excerpt([]byte(e.Name)), before).ViaIndex(i))
		} else if e.Invalid == "" {
			first[e.Name] = i
		}
	}
	return errs
}

// The patterns allow the names and versions of deb, rpm and tar packages. No such text is an option or is
// read by a shell as anything but one word. A name cannot end with a dash, which apt-get reads as a request
// to remove the package.
var (
	softwareName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9+._-]*[A-Za-z0-9+._])?$`)
	softwareVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~:_^-]*$`)
)

const (
	// maxSoftwareText is the maximum length of a name and of a version.
	maxSoftwareText = 100

	softwareNotation = `write the name of a package, or an object with the name as its only key, such as {curl: {version: "8.5.0-2"}}`
	softwareNameRule = "write the name that the package has: at most 100 letters, digits, and + . _ -; " +
		"it begins with a letter or digit and does not end with a dash"
	softwareVersionRule = "write the version that the package has: at most 100 letters, digits, and . + ~ : _ ^ -; it begins with a letter or digit"
)

// CheckPackage returns the errors of one entry, each with advice.
func CheckPackage(e v1alpha1.SoftwareEntry) (errs *apis.FieldError) {
	if e.Invalid != "" {
		_, wrong := v1alpha1.ParseEntry([]byte(e.Invalid))
		return problem("", softwareNotation, "%s", wrong)
	}
	if len(e.Name) > maxSoftwareText || !softwareName.MatchString(e.Name) {
		errs = errs.Also(problem("", softwareNameRule, "%q is not the name of a package", v1alpha1.Excerpt([]byte(e.Name))))
	}
	if e.Version != "" && (len(e.Version) > maxSoftwareText || !softwareVersion.MatchString(e.Version)) {
		errs = errs.Also(problem("version", softwareVersionRule, "%q is not the version of a package", v1alpha1.Excerpt([]byte(e.Version))))
	}
	if e.Disruption != "" && !slices.Contains(disruptions, e.Disruption) {
		errs = errs.Also(problem("disruption", "write one of "+strings.Join(disruptions, ", "), "%q is not a disruption", v1alpha1.Excerpt([]byte(e.Disruption))))
	}
	return errs
}

// disruptions are the values of SoftwareOptions.Disruption, the strongest last.
var disruptions = []string{"None", "Drain", "Reboot"}
