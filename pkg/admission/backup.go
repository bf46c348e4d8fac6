package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// CheckBackup returns all errors in the name and the spec, each with advice.
func CheckBackup(ctx context.Context, b *v1alpha1.Backup) (errs *apis.FieldError) {
	if apis.IsInDelete(ctx) || apis.IsInStatusUpdate(ctx) || b.DeletionTimestamp != nil {
		return nil
	}
	if old, _ := apis.GetBaseline(ctx).(*v1alpha1.Backup); old != nil {
		if !equality.Semantic.DeepEqual(old.Spec, b.Spec) {
			errs = problem("spec", "create another Backup", "the spec of a Backup cannot be changed")
		}
		return errs
	}
	if b.Name != "" && len(b.Name) > v1alpha1.MaxBackupNameLength {
		errs = errs.Also(problem("metadata.name", fmt.Sprintf("use a name of at most %d characters: other names contain it", v1alpha1.MaxBackupNameLength),
			"a name of %d characters is too long", len(b.Name)))
	} else if b.Name != "" && !isLabel(b.Name) {
		errs = errs.Also(problem("metadata.name", labelRule, "%q is not a DNS label", b.Name))
	}
	if name := b.Spec.Provisioning; len(name) > v1alpha1.MaxNameLength || !isLabel(name) {
		errs = errs.Also(problem("spec.provisioning", "write the name of a Provisioning in the same namespace", "%q is not the name of a Provisioning", name))
	}
	return errs
}

func validateBackups(b *v1alpha1.BackupPolicy) (errs *apis.FieldError) {
	if b == nil {
		return nil
	}
	if _, err := v1alpha1.ParseSchedule(b.Schedule); err != nil {
		errs = errs.Also(problem("schedule", `write five fields in UTC, such as "30 2 * * *" for every day at 02:30, or "@every 6h"`,
			"%q is not a schedule: %v", b.Schedule, err))
	}
	if b.Keep < 0 {
		errs = errs.Also(problem("keep", "write a number of at least 1", "%d Backups cannot be kept", b.Keep))
	}
	return errs
}
