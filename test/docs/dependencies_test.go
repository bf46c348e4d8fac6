package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDirectDependencies: the page of the direct dependencies has a reason for each one in go.mod, and no other rows.
func TestDirectDependencies(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) { // the others end with a comment
		want = append(want, m[1])
	}
	page, err := os.ReadFile("../../docs/decisions/2026-11-27-direct-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if names, reason, ok := strings.Cut(line, " | "); ok && strings.HasPrefix(line, "| `") && len(reason) > 10 {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(names, -1) {
				got = append(got, m[1])
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 30 {
		t.Errorf("go.mod against the page (-go.mod +page):\n%s", diff)
	}
}
