package admission

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Check returns what is wrong with an object of any kind in v1alpha1.Kinds: see CheckProvisioning, CheckBackup and
// CheckSoftware. It panics if the kind has no checks.
func Check(ctx context.Context, object runtime.Object) *apis.FieldError {
	switch o := object.(type) {
	case *v1alpha1.Provisioning:
		return CheckProvisioning(ctx, o)
	case *v1alpha1.Backup:
		return CheckBackup(ctx, o)
	case *v1alpha1.Software:
		return CheckSoftware(ctx, o)
	}
	panic(fmt.Sprintf("%T has no checks", object))
}
