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

// TestEachEventHasARow: docs/kubectl-bpa.md lists the reasons of all events that are no reasons of conditions or failures.
func TestEachEventHasARow(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubectl-bpa.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Events\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, name[1])
		}
	}
	found := eventReasons(t)
	slices.Sort(listed)
	if diff := cmp.Diff(found, listed); diff != "" {
		t.Errorf("reasons of events (-code +page):\n%s", diff)
	}
}

// named are the reasons of events that the code gives as a name and not as a string.
var named = map[string]string{"plan.ReasonFencing": "FencingHosts", "v1alpha1.ConditionHostsHealthy": "HostsHealthy"}

// eventReasons returns the strings that the reconcilers use as reasons of events.
func eventReasons(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir("../../pkg/reconciler", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr: // Event(object, type, reason, message), add(type, reason, ...)
				for i, argument := range n.Args[:max(len(n.Args)-1, 0)] {
					if isEventType(argument) {
						all = append(all, reasonIn(n.Args[i+1])...)
					}
				}
			case *ast.CompositeLit: // Event{Type: ..., Reason: ...}
				if event := fields(n); isEventType(event["Type"]) {
					all = append(all, reasonIn(event["Reason"])...)
				}
				if strings.Contains(path, "/access/") { // decisions of package access
					all = append(all, reasonIn(fields(n)["reason"])...)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func fields(literal *ast.CompositeLit) map[string]ast.Expr {
	all := map[string]ast.Expr{}
	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				all[key.Name] = pair.Value
			}
		}
	}
	return all
}

func isEventType(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(selector.Sel.Name, "EventType")
}

// reasonIn returns the reason if it is a string, or one of named.
func reasonIn(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil && text != "" {
			return []string{text}
		}
	case *ast.CallExpr: // string(name)
		if len(e.Args) == 1 {
			return reasonIn(e.Args[0])
		}
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && named[of.Name+"."+e.Sel.Name] != "" {
			return []string{named[of.Name+"."+e.Sel.Name]}
		}
	}
	return nil
}
