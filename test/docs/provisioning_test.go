package docs

import (
	"fmt"
	"strings"
	"testing"

	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// TestProvisionings checks that every Provisioning on a page can be applied unchanged.
func TestProvisionings(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			if f.kind != "yaml" || !strings.Contains(f.text, "\nkind: Provisioning\n") {
				continue
			}
			seen++
			t.Run(fmt.Sprintf("%s:%d", f.page, f.line), func(t *testing.T) { read(t, f) })
		}
	}
	if seen < 7 {
		t.Errorf("the pages have only %d Provisionings, want at least 7", seen)
	}
}

// read returns the Provisioning in a block with the webhook's defaults. It fails the test if the
// webhook would reject the Provisioning.
func read(t *testing.T, f fence) *v1alpha1.Provisioning {
	t.Helper()
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict([]byte(f.text), p); err != nil {
		t.Fatalf("%s:%d: %v", f.page, f.line, err)
	}
	p.SetDefaults(t.Context())
	if err := admission.CheckProvisioning(t.Context(), p); err != nil && err.Filter(apis.ErrorLevel) != nil {
		t.Fatalf("%s:%d: refused: %v", f.page, f.line, err)
	}
	p.Namespace = "site"
	return p
}
