package engine

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

var line = regexp.MustCompile(`"(\w+)": +func\(v reflect.Value\) reflect.Value { return v.MethodByName\("(\w+)"\) },`)

// TestMethodsOfTemplates: package template knows the methods of all types that a template of a chart can have: those of the data
// that Helm gives to it, of the results of all functions, and what comes out of these.
func TestMethodsOfTemplates(t *testing.T) {
	seen, want := map[reflect.Type]bool{}, map[string]bool{}
	for _, given := range []reflect.Type{ // as in ToRenderValues and recAllTpls
		reflect.TypeFor[chartutil.Values](), reflect.TypeFor[*chart.Metadata](), reflect.TypeFor[*chartutil.Capabilities](), reflect.TypeFor[files](),
	} {
		methodsOf(given, seen, want)
	}
	for _, functions := range []template.FuncMap{template.FuncMap(funcMap()), sprig.TxtFuncMap()} {
		for _, f := range functions {
			for i := range reflect.TypeOf(f).NumOut() {
				methodsOf(reflect.TypeOf(f).Out(i), seen, want)
			}
		}
	}
	text, err := os.ReadFile("../../go/template/methods.go")
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		if has[m[1]] = true; m[1] != m[2] || !want[m[1]] {
			t.Errorf("the line of %s returns %s; templates reach a method %s: %t", m[1], m[2], m[1], want[m[1]])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !has[name] {
			t.Errorf("methods.go has not: %q: func(v reflect.Value) reflect.Value { return v.MethodByName(%q) },", name, name)
		}
	}
}

// methodsOf adds the names of the methods of a type, and of all types that a template can get from it.
func methodsOf(of reflect.Type, seen map[reflect.Type]bool, names map[string]bool) {
	if seen[of] || of.Kind() == reflect.Interface { // the value of an interface is of a type that was given, or plain
		return
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		methodsOf(of.Elem(), seen, names)
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				methodsOf(of.Field(i).Type, seen, names)
			}
		}
	}
	for _, set := range []reflect.Type{of, reflect.PointerTo(of)} {
		for i := range set.NumMethod() {
			names[set.Method(i).Name] = true
			for j := range set.Method(i).Type.NumOut() {
				methodsOf(set.Method(i).Type.Out(j), seen, names)
			}
		}
	}
}
