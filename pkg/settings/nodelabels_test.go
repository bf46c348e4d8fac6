package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRules(t *testing.T) {
	var n NodeLabels
	if !readNodeLabels("row: example.org/row\nairshipit.org/rack:topology.kubernetes.io/zone", &n) {
		t.Fatal("it is refused")
	}
	want := map[string]string{"row": "example.org/row", "airshipit.org/rack": "topology.kubernetes.io/zone"}
	if diff := cmp.Diff(want, n.Rules()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if rules := NodeLabels("").Rules(); rules != nil {
		t.Errorf("no rules: %v", rules)
	}
}
