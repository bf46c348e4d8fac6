package from

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestDefaultReleaseIsOne: the types and the tasks, which import nothing of each other, name the same default release.
func TestDefaultReleaseIsOne(t *testing.T) {
	if v1alpha1.DefaultKubesprayRelease != contract.DefaultRelease {
		t.Errorf("the types have %s, the tasks %s", v1alpha1.DefaultKubesprayRelease, contract.DefaultRelease)
	}
}
