package facts

import (
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMessageForATenant: a holder in another namespace does not learn how a BMC is reached. It sees errors of its image.
func TestMessageForATenant(t *testing.T) {
	const said = "no answer of redfish://10.9.0.1/1"
	for what, row := range map[string]struct {
		holder string
		kind   metal3.ErrorType
		want   string
	}{
		"free":                        {"-", metal3.RegistrationError, said},
		"held in its namespace":       {"pool", metal3.RegistrationError, said},
		"held, without a namespace":   {"", metal3.PowerManagementError, said},
		"a tenant, the BMC":           {"tenant-a", metal3.RegistrationError, "`kubectl describe bmh -n pool host-1`"},
		"a tenant, an unknown error":  {"tenant-a", "", "`kubectl describe bmh -n pool host-1`"},
		"a tenant, the image it gave": {"tenant-a", metal3.ProvisioningError, said},
	} {
		h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "pool", Name: "host-1"}}
		h.Status.ErrorMessage, h.Status.ErrorType, h.Status.OperationalStatus = said, row.kind, metal3.OperationalStatusError
		if row.holder != "-" {
			h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Namespace: row.holder, Name: "edge-1"}
		}
		got := Message(h)
		if trouble := Of(h, nil).Trouble; !strings.Contains(got, row.want) || row.kind != metal3.ProvisioningError && !strings.Contains(trouble, row.want) {
			t.Errorf("%s: %q, trouble %q", what, got, trouble)
		}
	}
}
