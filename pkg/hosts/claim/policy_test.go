package claim

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPolicyKnowsTheLabels checks that the admission policy lets a task write exactly the labels
// that this package writes.
func TestPolicyKnowsTheLabels(t *testing.T) {
	text, err := os.ReadFile("../../../config/500-claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?s)- name: claimLabels\n\s+expression: >-\s+\[(.*?)\]`).FindSubmatch(text)
	if list == nil {
		t.Fatal("config/500-claims.yaml has no list of claimLabels")
	}
	var allowed []string
	for _, label := range regexp.MustCompile(`'([^']*)'`).FindAllSubmatch(list[1], -1) {
		allowed = append(allowed, string(label[1]))
	}
	slices.Sort(allowed)
	if diff := cmp.Diff(slices.Sorted(slices.Values(claimLabels)), allowed); diff != "" {
		t.Errorf("labels that config/500-claims.yaml lets select-hosts write (-want +got):\n%s", diff)
	}
}
