package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurity: each test that the page names exists, so that no limit is promised by a test that is gone.
func TestSecurity(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
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
	for _, root := range []string{"../../pkg", "../../test"} {
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
	for name := range missing {
		t.Errorf("docs/security.md names %s, which does not exist", name)
	}
}
