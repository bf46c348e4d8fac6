package v1alpha1

import (
	"strings"
	"testing"

	"knative.dev/pkg/apis"
)

// TestValidateRestore: a new request for a restore must name a Backup. A stored value keeps no other edit
// from being accepted.
func TestValidateRestore(t *testing.T) {
	with := func(value string) *Provisioning {
		p := &Provisioning{Spec: ProvisioningSpec{Masters: []map[string]Master{{"master-1": {}}}}}
		p.Name = "edge-1"
		if value != "none" {
			p.Annotations = map[string]string{AnnotationRestore: value}
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
		err := with(tc.after).Validate(apis.WithinUpdate(t.Context(), with(tc.before)))
		if (err == nil) != tc.accepted {
			t.Errorf("%q -> %q: %v", tc.before, tc.after, err)
		}
		if err != nil && !strings.Contains(err.Error(), "kubectl bpa restore edge-1 --from BACKUP") {
			t.Errorf("%q -> %q: no advice in %v", tc.before, tc.after, err)
		}
	}
	if err := with("B_1").Validate(apis.WithinCreate(t.Context())); err == nil {
		t.Error("a new object was accepted")
	}
}
