package claim

import (
	"os"
	"strings"
	"testing"
)

// The admission policy lets a task write the labels of a claim: all that this package writes.
func TestPolicyKnowsTheLabels(t *testing.T) {
	text, err := os.ReadFile("../../../config/500-claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range claimLabels {
		if !strings.Contains(string(text), "'"+label+"'") {
			t.Errorf("config/500-claims.yaml does not let select-hosts write the label %s", label)
		}
	}
}
