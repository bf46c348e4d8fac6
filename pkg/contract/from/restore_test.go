package from

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// The webhook checks the annotation that the controller reads.
func TestAnnotationRestore(t *testing.T) {
	if v1alpha1.AnnotationRestore != contract.AnnotationRestore {
		t.Errorf("%s and %s", v1alpha1.AnnotationRestore, contract.AnnotationRestore)
	}
}
