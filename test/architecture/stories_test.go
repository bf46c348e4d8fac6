package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEachStoryHasOneTarget checks that each Test function of test/e2e is in exactly one line
// stories-TARGET of the Makefile, that each of these targets runs its stories, and that make test runs
// the target or names it as left out.
func TestEachStoryHasOneTarget(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := func(name string) []string {
		found := regexp.MustCompile(`(?m)^` + name + ` *:=(.*)$`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("the Makefile has no line %s", name)
		}
		return strings.Fields(string(found[1]))
	}
	leftOut, targets := line("left-out"), map[string][]string{}
	inTest := line("parts-e2e")
	for _, found := range regexp.MustCompile(`(?m)^stories-(\S+) *:=(.*)$`).FindAllSubmatch(text, -1) {
		target := string(found[1])
		for _, story := range strings.Fields(string(found[2])) {
			targets[story] = append(targets[story], target)
		}
		recipe := regexp.MustCompile(`(?m)^` + target + `:.*\n(?:(?:\t|ifn?eq|else|endif).*\n)*?\t(?:\$\(proved\) .* -- \\\n\t  )?(\$\(call (?:stories|long),|hack/tested\.sh \$@ test/e2e/)`).FindSubmatch(text)
		want := slices.Contains(leftOut, target)
		if recipe == nil || want == (string(recipe[1]) == "$(call stories,") {
			t.Errorf("target %s, left out of make test: %t: its recipe does not run its stories with the right function (%q)", target, want, recipe)
		}
		if want == slices.Contains(inTest, target) {
			t.Errorf("target %s is in both of left-out and parts-e2e, or in none of them", target)
		}
	}
	want := map[string]int{}
	for _, name := range storiesOf(t, "../e2e") {
		want[name] = 1
	}
	got := map[string]int{}
	for story, of := range targets {
		got[story] = len(of)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("number of targets of each story (-want +got):\n%s", diff)
	}
	runs := regexp.MustCompile(`(?m)^test:.*\n\t@hack/parts\.sh .*\be2e( |$)(?s:.*)^e2e:.*\nifneq.*\n\t@hack/parts\.sh \$\(subst .*,\$\(parts-e2e\)\)$`)
	if !runs.Match(text) || len(want) == 0 {
		t.Errorf("make test does not run the parts of e2e, or there are no stories: %v", slices.Sorted(maps.Keys(want)))
	}
}

// storiesOf returns the names of the Test functions in the files of a folder.
func storiesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
