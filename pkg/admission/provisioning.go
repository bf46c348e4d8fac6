package admission

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// CheckProvisioning returns all errors in the spec at once, each with advice. Errors of level warning do not
// reject the object.
//
// An update is accepted in spite of an error if the stored object has the same error and the update
// does not change the field; see ratchet. If a cluster is installed, an update must not request what
// BPA cannot change; see validateEdit.
func CheckProvisioning(ctx context.Context, p *v1alpha1.Provisioning) *apis.FieldError {
	if apis.IsInDelete(ctx) || apis.IsInStatusUpdate(ctx) || p.DeletionTimestamp != nil {
		return nil
	}
	p = p.Normalized() // another notation of the stored value is no edit
	old, _ := apis.GetBaseline(ctx).(*v1alpha1.Provisioning)
	if old != nil { // the stored object has no defaults if the defaulting webhook was missing when it was stored
		old = old.DeepCopy()
		old.SetDefaults(ctx)
	}
	asked := validateRestore(p, old)
	if old != nil && equality.Semantic.DeepEqual(old.Spec, p.Spec) && equality.Semantic.DeepEqual(old.Labels, p.Labels) {
		return asked
	}
	errs := validateObject(p)
	if old != nil {
		errs = ratchet(errs, old, p)
	}
	return errs.Also(asked, validateHosts(p, old).ViaField("spec"), validateEdit(p, old).ViaField("spec"))
}

// validateRestore checks a new request for a restore. Whether the Backup exists, only the controller can
// say: it may be created later.
func validateRestore(p *v1alpha1.Provisioning, old *v1alpha1.Provisioning) *apis.FieldError {
	value, asked := p.Annotations[v1alpha1.AnnotationRestore]
	if old != nil {
		before, had := old.Annotations[v1alpha1.AnnotationRestore]
		asked = asked && !(had && before == value)
	}
	if !asked {
		return nil
	}
	words := strings.Fields(value)
	if len(words) > 0 && len(validation.IsDNS1123Subdomain(words[0])) == 0 {
		return nil
	}
	return problem("metadata.annotations["+v1alpha1.AnnotationRestore+"]",
		fmt.Sprintf("use `kubectl bpa restore %s --from BACKUP`, or begin the value with the name of a Backup", p.Name),
		"%q does not begin with the name of a Backup", value)
}

func validateObject(p *v1alpha1.Provisioning) *apis.FieldError {
	return validateMetadata(p).Also(validateSpec(&p.Spec).ViaField("spec"))
}

func validateMetadata(p *v1alpha1.Provisioning) (errs *apis.FieldError) {
	if p.Name != "" {
		if len(p.Name) > v1alpha1.MaxNameLength {
			errs = errs.Also(problem("metadata.name",
				fmt.Sprintf("use a name of at most %d characters: the names of Secrets and runs contain it", v1alpha1.MaxNameLength),
				"a name of %d characters is too long", len(p.Name)))
		} else if !isLabel(p.Name) {
			errs = errs.Also(problem("metadata.name", labelRule, "%q is not a DNS label", p.Name))
		}
	}
	if cluster, ok := p.Labels[v1alpha1.LabelCluster]; ok && !isLabel(cluster) {
		errs = errs.Also(problem("metadata.labels.cluster", labelRule, "%q is not a DNS label", cluster))
	}
	return errs
}

func validateSpec(s *v1alpha1.ProvisioningSpec) (errs *apis.FieldError) {
	return errs.Also(
		validateNodes(s),
		validateSets(s),
		validateOneHome(s),
		validateSizeOfNodeVars(s),
		validateSubnets(s),
		validateImage(s.OSImage).ViaField("osImage"),
		validateAccess(s),
		validateKubernetes(&s.Kubernetes).ViaField("kubernetes"),
		validateAPI(s),
		validateKubespray(&s.Kubespray).ViaField("kubespray"),
		validateSSH(&s.SSH).ViaField("ssh"),
		CheckDepot(&s.Depot).ViaField("depot"),
		validateSystem(s.OperatingSystem),
		validateTimeouts(&s.Timeouts).ViaField("timeouts"),
		validateUpgrade(&s.Upgrade).ViaField("upgrade"),
		validateBackups(s.Backup).ViaField("backup"),
		validateReplacing(s),
		validatePlugins(s),
	)
}

const labelRule = "use at most 63 lower case letters, digits and dashes; begin and end with a letter or digit"

// isLabel reports whether text is a DNS label. Node names must be labels, because they become host
// names, inventory names and label values.
func isLabel(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }

// problem returns one error: the path of the field, advice for the user, and a formatted message.
func problem(path, advice, format string, args ...any) *apis.FieldError {
	return &apis.FieldError{Message: fmt.Sprintf(format, args...), Paths: []string{path}, Details: advice}
}

// warning returns an error that does not reject the object. It is one line, because a warning is
// sent in an HTTP header.
func warning(path, format string, args ...any) *apis.FieldError {
	message := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	return (&apis.FieldError{Message: message, Paths: []string{path}}).At(apis.WarningLevel)
}
