package artifacts

import (
	"encoding/json"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
)

// TestBaselineHasNoAcceleration checks that the lab's variables have none of those with which BPA
// makes kubespray faster. Otherwise the benchmark would compare BPA with an accelerated kubespray,
// and BPA's own variables would have no effect in the lab.
func TestBaselineHasNoAcceleration(t *testing.T) {
	raw, err := os.ReadFile("../vars.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]json.RawMessage{}
	if err := yaml.Unmarshal(raw, &set); err != nil || len(set) == 0 {
		t.Fatalf("%d variables, %v", len(set), err)
	}
	variables := acceleration.ExtraVars(acceleration.Names, contract.PlaybookInstall, contract.Request{})
	if len(variables) == 0 {
		t.Fatal("there is no variable to compare with")
	}
	for name := range variables {
		if _, found := set[name]; found {
			t.Errorf("test/lab/vars.yaml sets %s, which is an acceleration", name)
		}
	}
}
