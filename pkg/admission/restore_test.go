package admission

import (
	"strings"
	"testing"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestValidateRestore: a new request for a restore must name a Backup. A stored value keeps no other edit
// from being accepted.
func TestValidateRestore(t *testing.T) {
	with := func(value string) *v1alpha1.Provisioning {
		p := &v1alpha1.Provisioning{Spec: v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{"master-1": {}}}}}
		p.Name = "edge-1"
		if value != "none" {
			p.Annotations = map[string]string{v1alpha1.AnnotationRestore: value}
		}
		p.SetDefaults(t.Context())
		return p
	}
	for _, tc := range []struct {
		before, after string
		accepted      bool
	}{
		{"none", "b-1", true}, {"none", "b-1 force now", true}, {"b-1", "none", true}, {"none", "none", true}, {"b-1", "b.2 x", true},
		{"none", "", false}, {"none", "  ", false}, {"b-1", "B_1", false}, {"b-1", "-b now", false},
		{"B_1", "B_1", true},
	} {
		err := CheckProvisioning(apis.WithinUpdate(t.Context(), with(tc.before)), with(tc.after))
		if (err == nil) != tc.accepted {
			t.Errorf("%q -> %q: %v", tc.before, tc.after, err)
		}
		if err != nil && !strings.Contains(err.Error(), "kubectl bpa restore edge-1 --from BACKUP") {
			t.Errorf("%q -> %q: no advice in %v", tc.before, tc.after, err)
		}
	}
	if err := CheckProvisioning(apis.WithinCreate(t.Context()), with("B_1")); err == nil {
		t.Error("a new object was accepted")
	}
}
