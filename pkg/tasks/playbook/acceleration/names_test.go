package acceleration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The API accepts the names that this package knows, and docs/kubespray.md describes each of them.
func TestNamesAreInTheAPIAndTheDocs(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile("../../../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, marker, _ := strings.Cut(read("pkg/apis/bpa/v1alpha1/spec_types.go"), "validation:items:Enum="+All+";")
	marker, _, _ = strings.Cut(marker, "\n")
	if diff := cmp.Diff(Names, strings.Split(marker, ";")); diff != "" {
		t.Errorf("spec.kubespray.acceleration.disable (-want +got):\n%s", diff)
	}
	_, section, _ := strings.Cut(read("docs/kubespray.md"), "\n## Acceleration\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var rows []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "`"); strings.HasPrefix(line, "| `") {
			rows = append(rows, cells[1])
		}
	}
	if !slices.Equal(rows, Names) {
		t.Errorf("docs/kubespray.md describes %v, want %v", rows, Names)
	}
}
