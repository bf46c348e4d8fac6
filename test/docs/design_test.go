package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDesignNamesWhatIsThere checks that each function and type that docs/design.md names, such as `plan.Next`, is in a
// package of that name.
func TestDesignNamesWhatIsThere(t *testing.T) {
	page, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	exported := exportedNames(t, "../../pkg")
	names := regexp.MustCompile("`([a-z]+\\.[A-Z][A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 5 {
		t.Fatalf("the page names %d functions: is the expression wrong?", len(names))
	}
	for _, name := range names {
		if !exported[name[1]] {
			t.Errorf("docs/design.md names %s, which does not exist", name[1])
		}
	}
}

// exportedNames returns package.Name for the exported functions and types of all packages below dir.
func exportedNames(t *testing.T, dir string) map[string]bool {
	names := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					names[file.Name.Name+"."+decl.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						names[file.Name.Name+"."+spec.Name.Name] = true
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
