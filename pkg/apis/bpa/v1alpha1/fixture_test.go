package v1alpha1

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// provisioning parses a spec as a user writes it, and applies the defaults as the webhook does.
func provisioning(t *testing.T, spec string) *Provisioning {
	t.Helper()
	p := &Provisioning{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatalf("the test's own YAML: %v", err)
	}
	p.SetDefaults(context.Background())
	return p
}
