package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSamplesIndex: the table of the samples has each file, by its name or by its pattern, and no other.
func TestSamplesIndex(t *testing.T) {
	raw, err := os.ReadFile("../../config/samples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v: %d samples", err, len(files))
	}
	var patterns []string
	for line := range strings.Lines(string(raw)) {
		if cell, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " |"); row && strings.Contains(cell, ".yaml") {
			name, _, _ := strings.Cut(strings.TrimPrefix(cell, "["), "]")
			patterns = append(patterns, name)
		}
	}
	rows := map[string]int{}
	for _, file := range files {
		found := false
		for _, pattern := range patterns {
			if ok, err := filepath.Match(pattern, filepath.Base(file)); err != nil {
				t.Fatal(err)
			} else if ok {
				rows[pattern]++
				found = true
			}
		}
		if !found {
			t.Errorf("config/samples/README.md has no row for %s", filepath.Base(file))
		}
	}
	for _, pattern := range patterns {
		if rows[pattern] == 0 {
			t.Errorf("config/samples/README.md has a row for %s, which does not exist", pattern)
		}
	}
}
