package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKnownDefects: each row of the page has a test that runs its story, and each story has a row. The test is
// named after the number.
func TestKnownDefects(t *testing.T) {
	page, err := os.ReadFile("../../docs/known-defects.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| (L[0-9]+[A-Z]?) \\|.*\\| `(\\w+)` in `([^`]+)` \\|$").FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, m[1]+" "+m[2]+" "+m[3])
		if m[2] != "TestKnownDefect"+m[1] {
			t.Errorf("the test of %s is %s, want TestKnownDefect%s", m[1], m[2], m[1])
		}
	}
	if lines := strings.Count(string(page), "\n| L"); lines != len(rows) {
		t.Errorf("the page has %d rows, and %d of them name a test", lines, len(rows))
	}
	found := stories(t)
	slices.Sort(rows)
	if diff := cmp.Diff(rows, found); diff != "" {
		t.Errorf("rows and stories (-page +tests):\n%s", diff)
	}
}

// stories returns the calls of knowndefect.Expect, sorted: the number, the test and its folder.
func stories(t *testing.T) (all []string) {
	t.Helper()
	for _, root := range []string{"../../pkg", "../../cmd", "../../test"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(text), "knowndefect.Expect(") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel("../..", filepath.Dir(path))
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					for _, number := range expected(t, f) {
						all = append(all, number+" "+f.Name.Name+" "+filepath.ToSlash(folder))
					}
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

// expected returns the numbers in the calls of knowndefect.Expect in a function.
func expected(t *testing.T, f *ast.FuncDecl) (numbers []string) {
	t.Helper()
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		called, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || called.Sel.Name != "Expect" {
			return true
		}
		if of, ok := called.X.(*ast.Ident); !ok || of.Name != "knowndefect" {
			return true
		}
		literal, ok := call.Args[1].(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: the number of the defect is no literal", f.Name.Name)
			return true
		}
		number, _ := strconv.Unquote(literal.Value) // the parser has accepted it
		numbers = append(numbers, number)
		return true
	})
	return numbers
}
