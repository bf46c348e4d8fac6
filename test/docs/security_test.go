package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTests: each test that these pages name exists, so that nothing is promised by a test that is gone.
func TestNamedTests(t *testing.T) {
	for _, page := range []string{"security.md", "site.md", "reviews/2026-11-24.md"} {
		t.Run(page, func(t *testing.T) { checkNamedTests(t, page) })
	}
}

func checkNamedTests(t *testing.T, name string) {
	page, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1) {
		missing[m[1]] = true
	}
	if len(missing) < 5 {
		t.Fatalf("the page names only %d tests", len(missing))
	}
	for _, root := range []string{"../../pkg", "../../test", "../../cmd", "../../bootstrap"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for name := range missing {
				if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
					delete(missing, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for test := range missing {
		t.Errorf("docs/%s names %s, which does not exist", name, test)
	}
}
